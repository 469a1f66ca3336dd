// Changes on disk in a conversation: below the call that has made them, and at the end of a turn of an external agent; and rollbacks.

import { sumView } from "./diskview.js";
import { h } from "./dom.js";
import { revealed } from "./reveal.js";
import { article, once, remembered, time } from "./rowparts.js";
import { outcomeText, reasonText } from "./selection.js";
import { revealedCall } from "./suspect.js";

/** The changes that the checkpoints after a call have found: a line that opens the diff. It reads the diff from the server only then. */
export class DiskChanges {
  element = h("div", { class: "disk", hidden: true });
  #title = h("summary");
  #diff = h("div");
  #offer = h("div", { class: "row" });
  #details;
  #key = "";
  #read = "";

  /**
   * @param {string} id of the row
   * @param {object} scene its `disk` reads diffs and takes back
   * @param {() => {query: object, point?: object, what: string}} about the query of the diff, and the checkpoint and the name for a rollback
   */
  constructor(id, { disk, opened }, about) {
    Object.assign(this, { disk, about });
    this.#details = remembered(`${id}:disk`, opened, this.#title, this.#diff, this.#offer);
    this.element.append(this.#details);
    this.#details.addEventListener("toggle", () => this.#open());
  }

  /** @param {object[]} [found] by the checkpoints, in their order */
  show(found = []) {
    this.element.hidden = found.length === 0;
    this.#key = found.map(({ checkpoint }) => checkpoint).join(" ");
    once(this.#title, this.#key, () => sumView(found));
    this.#open();
  }

  #open() {
    if (!this.#details.open || this.#key === this.#read) return;
    this.#read = this.#key;
    const { query, point, what } = this.about();
    this.disk.draw(this.#diff, query);
    this.disk.offer(this.#offer, point, `Take back to before ${what}…`, `before ${what}`);
  }
}

/** The changes at the end of a turn. */
export function changesView(row, scene) {
  const { turn, changes } = row;
  const disk = new DiskChanges(row.id, scene, () => {
    const before = scene.disk.points.before(changes.checkpoint);
    return { query: { from: before?.number, to: changes.checkpoint }, point: scene.disk.points.beforeTurn(turn), what: "this turn" };
  });
  disk.show([changes]);
  return { element: article("changes", h("div", { class: "row spread" }, h("strong", {}, `Changed on disk in turn ${turn}`), time(row)), disk.element), update() {} };
}

/** A rollback while the execution was live. */
export function rollbackView(row, { opened }) {
  const { to, by, folders, error } = row.rollback;
  return { element: article("rollback", h("div", { class: "row spread" }, h("strong", {}, "Taken back by ", revealed(by.name), `, to checkpoint ${to}`), time(row)),
    h("p", {}, outcomeText(folders)), error && h("p", { class: "error" }, revealed(error.message)),
    folders.some(({ restoredCount, keptCount }) => restoredCount + keptCount > 0) && remembered(row.id, opened, h("summary", {}, "Which files"),
      folders.map(restoredView))), update() {} };
}

/** The result of a rollback in a folder. */
export function restoredView({ path, restored, restoredCount, kept, keptCount }) {
  const more = (count, listed) => count > listed && h("li", { class: "muted" }, `and ${count - listed} more`);
  return h("div", { class: "stack small" },
    h("p", {}, "In ", h("span", { class: "mono" }, revealedCall(path)), restoredCount + keptCount === 0 && ", which equalled the checkpoint"),
    restoredCount > 0 && h("div", {}, h("p", {}, "Went back:"), h("ul", { class: "paths" }, restored.map((one) => h("li", { class: "mono" }, revealedCall(one))),
      more(restoredCount, restored.length))),
    keptCount > 0 && h("div", {}, h("p", {}, "Stay as they are:"), h("ul", { class: "paths" }, kept.map((one) => h("li", {}, h("span", { class: "mono" },
      revealedCall(one.path)), `: ${reasonText(one.reason)}`)), more(keptCount, kept.length))));
}
