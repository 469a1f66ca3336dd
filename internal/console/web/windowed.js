// A list of which only what is near is drawn. Its rows stand in pages; a page that is far is an empty box of the height that it had, or that it may
// have. So five thousand rows are a few hundred boxes, and scrolling through them costs the same at either end.

import { h } from "./dom.js";

const perPage = 20;
/** A list of no more pages than this is drawn whole: there the browser's own search finds everything. */
const fewPages = 5;

/**
 * Rows that begin and change, and never go or move.
 *
 *   make(row)      a view: {element, update(row), leave?()}
 *   estimate(row)  about how high it will be
 */
export class Windowed {
  #element;
  #sight;
  #make;
  #estimate;
  #pages = [];
  #places = new Map(); // by the row's id: its page
  #count = 0;

  constructor(element, sight, { make, estimate }) {
    this.#element = element;
    this.#sight = sight;
    this.#make = make;
    this.#estimate = estimate;
  }

  /** Brings the list up to date: rows is all of them, changed the ids of those that are new or other than before. */
  show(rows, changed) {
    const known = this.#count;
    for (; this.#count < rows.length; this.#count++) this.#add(rows[this.#count]);
    for (const id of changed) this.#places.get(id)?.update(id);
    if (rows.length > known) this.#drawEnds();
  }

  /** What stands in the page now, in order: pages that are far as boxes, of the others their rows. */
  *elements() {
    for (const page of this.#pages) {
      if (page.isDrawn) yield* page.elements();
      else yield page.element;
    }
  }

  /** Draws a row's page, and returns the row's element; undefined: there is no such row. */
  reach(id) {
    const page = this.#places.get(id);
    page?.near();
    return page?.elementOf(id);
  }

  #add(row) {
    if (this.#pages.length === 0 || this.#pages.at(-1).isFull) this.#addPage();
    this.#pages.at(-1).add(row);
    this.#places.set(row.id, this.#pages.at(-1));
  }

  #addPage() {
    const page = new Page(this.#make, this.#estimate);
    this.#pages.push(page);
    this.#element.append(page.element);
  }

  /** What is new at the end is drawn at once where the person is there; all else waits until it comes near. */
  #drawEnds() {
    const few = this.#pages.length <= fewPages;
    if (this.#sight.pinned) this.#pages.at(-1).near();
    for (const page of this.#pages) {
      if (few) page.near();
      else page.watch(this.#sight);
    }
  }
}

class Page {
  element = h("div", { class: "page" });
  #make;
  #estimate;
  #rows = new Map();
  #views; // undefined: it is far
  #watched = false;
  #height = 0;

  constructor(make, estimate) {
    this.#make = make;
    this.#estimate = estimate;
  }

  get isFull() {
    return this.#rows.size === perPage;
  }

  get isDrawn() {
    return this.#views !== undefined;
  }

  elements() {
    return this.element.children;
  }

  elementOf(id) {
    return this.#views?.get(id)?.element;
  }

  watch(sight) {
    if (this.#watched) return;
    this.#watched = true;
    sight.watch(this.element, { near: () => this.near(), far: () => this.far() });
  }

  add(row) {
    this.#rows.set(row.id, row);
    if (this.isDrawn) return this.#draw(row);
    this.#stand(this.#height + this.#estimate(row));
  }

  update(id) {
    this.#views?.get(id)?.update(this.#rows.get(id));
  }

  near() {
    if (this.isDrawn) return;
    this.#views = new Map();
    this.element.style.blockSize = "";
    for (const row of this.#rows.values()) this.#draw(row);
  }

  far() {
    if (!this.isDrawn || this.#isInUse()) return;
    this.#stand(this.element.getBoundingClientRect().height);
    for (const view of this.#views.values()) view.leave?.();
    this.#views = undefined;
    this.element.replaceChildren();
  }

  /** Focus and a selection are not taken from under the person. */
  #isInUse() {
    const selection = getSelection();
    return this.element.contains(document.activeElement) || (!selection.isCollapsed && selection.containsNode(this.element, true));
  }

  #draw(row) {
    const view = this.#make(row);
    this.#views.set(row.id, view);
    this.element.append(view.element);
  }

  #stand(height) {
    this.#height = height;
    this.element.style.blockSize = `${height}px`;
  }
}
