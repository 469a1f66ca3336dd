// The agent's plan, as it stands now.

import { fill, h } from "./dom.js";
import { words } from "./format.js";
import { showJSON } from "./json.js";
import { reveal } from "./reveal.js";

const marks = { completed: "✓", in_progress: "▸", pending: "○" };

export class Plan {
  element = h("section", { class: "plan card", "aria-label": "Plan", hidden: true });
  #shown = "";

  /** @param entries [{content, priority, status}], as the agent words it */
  show(entries) {
    const now = showJSON(entries);
    if (now === this.#shown) return;
    this.#shown = now;
    this.element.hidden = entries.length === 0;
    fill(this.element, h("h2", {}, "Plan"), h("ol", {}, entries.map((entry) => step(entry ?? {}))));
  }
}

function step({ content, status }) {
  const state = String(status ?? "");
  return h("li", { data: { status: state } }, h("span", { "aria-hidden": "true" }, marks[state] ?? "·"), " ", reveal(String(content ?? "–")), h("span",
    { class: "muted small" }, ` ${words(state.replaceAll("_", " "))}`));
}
