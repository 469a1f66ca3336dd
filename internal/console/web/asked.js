// The approvals of one execution, in place: a card for each that a person has to decide, or has decided while the page was open. Cards are kept
// here and not in the rows of the conversation, so that a reason half typed is still there when its row was out of sight.

import { approvalPath, get } from "./api.js";
import { approvalCard } from "./approval.js";
import { fill, h } from "./dom.js";

/** The cards, by approval. */
export class Asked {
  /** Approvals that were decided long ago are not asked for one by one while history is read. */
  live = false;
  #cards = new Map(); // by id: {element, card?}
  #options;
  #signal;

  /** @param {object} options of approvalCard: {shell, execution} */
  constructor(options, signal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** The place of an approval's card; undefined: it is none to be decided here. */
  card({ id, status }) {
    const known = this.#cards.get(id);
    if (known !== undefined) return known.element;
    if (status !== "pending" || !this.live) return undefined;
    const entry = { element: h("div", { class: "asked" }) };
    this.#cards.set(id, entry);
    this.#load(id, entry);
    return entry.element;
  }

  /** An approval has changed: who sees its card sees what became of it. */
  refresh(id) {
    const entry = this.#cards.get(id);
    if (entry !== undefined) this.#load(id, entry);
  }

  async #load(id, entry) {
    try {
      const approval = await get(approvalPath(id), {}, { signal: this.#signal });
      if (entry.card !== undefined) return entry.card.update(approval);
      entry.card = approvalCard(approval, { ...this.#options, inPlace: true });
      fill(entry.element, entry.card.element);
    } catch (problem) {
      if (!this.#signal.aborted) this.#fail(id, entry, problem);
    }
  }

  #fail(id, entry, problem) {
    entry.element.querySelector(".failed")?.remove();
    const again = h("button", { type: "button", class: "small", on: { click: () => this.#load(id, entry) } }, "Try again");
    entry.element.append(h("p", { class: "failed error", role: "alert" }, `The approval cannot be shown: ${problem.message} `, again));
  }
}
