// The use of checkpoints on the page of an execution: the page reads diffs, and offers to take changes back.

import { executionPath, get } from "./api.js";
import { diskDiffView } from "./diskview.js";
import { fill, h } from "./dom.js";
import { loading } from "./loading.js";
import { TakeBack } from "./takeback.js";

/** The checkpoints of a page. */
export class Taking {
  #id;
  #place;
  #signal;
  #sight;
  #delegates;
  #listeners = [];

  /**
   * @param {string} id of the execution
   * @param {{place: HTMLElement, signal: AbortSignal, sight: object, points: object, delegates: () => boolean}} page place holds the dialogs; delegates tells
   *   whether the execution is the root of others
   */
  constructor(id, { place, signal, sight, points, delegates }) {
    this.#id = id;
    this.#place = place;
    this.#signal = signal;
    this.#sight = sight;
    this.#delegates = delegates;
    this.points = points;
  }

  /** Reads a diff and draws it into a place. The part of the page that the person looks at does not move. */
  draw(place, query, how) {
    return loading(place, this.#signal, () => get(`${executionPath(this.#id)}/diff`, query, { signal: this.#signal }),
      (found) => this.#sight.steady(() => fill(place, diskDiffView(found, how))));
  }

  /** The rollbacks so far, the oldest first. */
  async rollbacks() {
    return (await get(`${executionPath(this.#id)}/rollbacks`, {}, { signal: this.#signal })).items;
  }

  /** Puts a button into a place. The button takes back the changes since a checkpoint. */
  offer(place, point, label, since) {
    const about = { to: point?.number, since, signal: this.#signal, done: () => this.#tell() };
    const ask = () => new TakeBack(this.#id, { ...about, delegates: this.#delegates() }).open(this.#place);
    this.#sight.steady(() => fill(place, point !== undefined && h("button", { type: "button", on: { click: ask } }, label)));
  }

  /** Calls back after a rollback from this page. */
  onTakenBack(listener) {
    this.#listeners.push(listener);
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}
