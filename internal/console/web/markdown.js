// Markdown drawn as elements, while it streams. Sanitised by how it is made: the tree of passages.js knows no HTML and no pictures, and all of its
// text becomes text nodes. What is finished is never drawn again, only what may still change is, so nothing jumps under the reader.
// A long text is drawn in sheets, of which those that are far from what is seen are empty.

import { h } from "./dom.js";
import { Passages, passages } from "./passages.js";
import { reveal } from "./reveal.js";
import { spans, target, textOf } from "./spans.js";

const sheetLength = 12_000; // characters
/** A text of no more sheets than this is drawn whole. */
const fewSheets = 5;
const perLine = 90;
const lineHeight = 24;

/** A text in an element: `new Markdown(element)`, `append` what comes, `end` it. */
export class Markdown {
  #element;
  #sight;
  #passages = new Passages();
  #sheets = [];
  #open = []; // what stands behind the finished passages, in the last sheet: {passage, element}

  /** @param sight what is seen of the page, see sight.js; without it all is drawn */
  constructor(element, sight) {
    this.#element = element;
    this.#sight = sight;
    element.classList.add("markdown");
  }

  append(text) {
    const finished = this.#passages.push(text);
    this.#draw(finished, this.#passages.open());
  }

  end() {
    this.#draw(this.#passages.end(), []);
  }

  /** The element is thrown away. */
  leave() {
    for (const sheet of this.#sheets) sheet.unwatch?.();
  }

  #draw(finished, open) {
    if (finished.length === 0 && this.#grow(open)) return;
    for (const { element } of this.#open) element.remove();
    for (const passage of finished) this.#sheetToWrite().add(passage);
    this.#sheets.at(-1)?.draw();
    // New elements each time, never old ones in another place: an element that moves is what a browser calls a shift.
    this.#open = open.map((passage) => ({ passage, element: draw(passage) }));
    if (open.length > 0) this.#sheetToWrite().element.append(...this.#open.map(({ element }) => element));
  }

  /** Code grows in its place, so that a selection in it and its box stay. */
  #grow([next, ...others]) {
    const [{ passage, element } = {}] = this.#open;
    if (next?.type !== "code" || passage?.type !== "code" || others.length > 0 || this.#open.length > 1 || !next.text.startsWith(passage.text)) return false;
    element.querySelector("code").append(reveal(next.text.slice(passage.text.length)));
    this.#open = [{ passage: next, element }];
    return true;
  }

  #sheetToWrite() {
    if (this.#sheets.length > 0 && !this.#sheets.at(-1).isFull) return this.#sheets.at(-1);
    if (this.#sheets.length > fewSheets) for (const sheet of this.#sheets) sheet.watch();
    else this.#sheets.at(-1)?.draw();
    const sheet = new Sheet(this.#sight);
    this.#sheets.push(sheet);
    this.#element.append(sheet.element);
    return sheet;
  }
}

/** Some passages of a long text that come and go together. */
class Sheet {
  element = h("div", { class: "sheet" });
  unwatch;
  #sight;
  #passages = [];
  #drawn = 0;
  #length = 0;

  constructor(sight) {
    this.#sight = sight;
  }

  get isFull() {
    return this.#length > sheetLength;
  }

  add(passage) {
    this.#passages.push(passage);
    this.#length += lengthOf(passage);
  }

  draw() {
    for (; this.#drawn < this.#passages.length; this.#drawn++) this.element.append(draw(this.#passages[this.#drawn]));
  }

  /** Nothing is added any more: from now on it is drawn only while it is near. */
  watch() {
    if (this.unwatch !== undefined) return;
    if (this.#drawn > 0 || this.#sight === undefined) this.draw();
    else this.#stand((this.#length / perLine) * lineHeight);
    this.unwatch = this.#sight?.watch(this.element, { near: () => this.#near(), far: () => this.#far() });
  }

  #near() {
    this.element.style.blockSize = "";
    this.draw();
  }

  #far() {
    this.#stand(this.element.getBoundingClientRect().height);
    this.#drawn = 0;
    this.element.replaceChildren();
  }

  #stand(height) {
    this.element.style.blockSize = `${height}px`;
  }
}

function lengthOf(passage) {
  return passage.text?.length ?? JSON.stringify(passage).length;
}

/** Draws a text that is whole, and short enough to be drawn at once. */
export function markdown(text) {
  return h("div", { class: "markdown" }, passages(text).map(draw));
}

function draw(passage) {
  return drawers[passage.type](passage);
}

const drawers = {
  paragraph: ({ text, open }) => h("p", {}, spans(text, open).map(drawSpan)),
  plain: ({ text }) => h("p", {}, reveal(text)),
  // All of one level: a model may leave some out, and the outline of the page must have none missing.
  heading: ({ level, text }) => h("h3", { class: `heading level-${level}` }, spans(text).map(drawSpan)),
  code: ({ language, text, continued }) =>
    h("pre", { class: `code${continued ? " continued" : ""}`, "data-language": continued || language === "" ? null : language.slice(0, 40) }, h("code", {},
      reveal(text))),
  rule: () => h("hr"),
  quote: ({ passages: inner }) => h("blockquote", {}, inner.map(draw)),
  list: ({ start, items }) => h(start === undefined ? "ul" : "ol", { start: start === undefined || start === 1 ? null : start }, items.map(drawItem)),
  table: ({ head, align, rows }) =>
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" },
      h("table", {},
        head === undefined ? null : h("thead", {}, h("tr", {}, head.map((cell, at) => h("th", { class: align[at], scope: "col" }, spans(cell).map(drawSpan))))),
        h("tbody", {}, rows.map((row) => h("tr", {}, align.map((where, at) => h("td", { class: where }, spans(row[at] ?? "").map(drawSpan)))))))),
};

function drawItem({ passages: inner, done }) {
  const [first, ...rest] = inner;
  const words = first?.type === "paragraph" ? [spans(first.text).map(drawSpan), rest.map(draw)] : inner.map(draw);
  if (done === undefined) return h("li", {}, words);
  return h("li", { class: "task" }, h("span", { role: "img", "aria-label": done ? "done" : "to do" }, done ? "☑" : "☐"), " ", words);
}

function drawSpan(span) {
  return spanDrawers[span.type](span);
}

const spanDrawers = {
  text: ({ text }) => reveal(text),
  code: ({ text }) => h("code", {}, reveal(text)),
  strong: ({ children }) => h("strong", {}, children.map(drawSpan)),
  em: ({ children }) => h("em", {}, children.map(drawSpan)),
  strike: ({ children }) => h("del", {}, children.map(drawSpan)),
  link: drawLink,
  // No picture is fetched: whoever asks for one tells its server who reads this, and what the address holds.
  image: ({ address, text }) => h("span", {}, "Picture: ", reveal(text), " ", drawLink({ address, children: [{ type: "text", text: address }] })),
};

function drawLink({ address, children }) {
  const text = textOf(children);
  const to = target(address, text);
  if (to === undefined) return h("span", {}, children.map(drawSpan), text === address || address === "" ? null : [" (", reveal(address), ")"]);
  const link = h("a", { href: to.href, rel: "noopener noreferrer", target: "_blank" }, children.length === 0 ? to.host : children.map(drawSpan));
  return to.said || children.length === 0 ? link : h("span", {}, link, h("span", { class: "muted" }, ` (${to.host})`));
}
