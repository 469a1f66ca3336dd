// The agent's plan, as it stands now.

import { fill, h } from "./dom.js";
import { words } from "./format.js";
import { showJSON } from "./json.js";
import { lookup } from "./lookup.js";
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
  const state = typeof status === "string" ? status : "";
  return h("li", { data: { status: state } }, h("span", { "aria-hidden": "true" }, lookup(marks, state) ?? "·"), " ", reveal(textOf(content)), h("span",
    { class: "muted small" }, ` ${words(state.replaceAll("_", " "))}`));
}

/** What is no text stands as JSON: an object may well have a toString of its own that is no function. */
function textOf(content) {
  if (typeof content === "string") return content;
  return content === null || content === undefined ? "–" : showJSON(content);
}
