// The path from a root to an execution below it, with the prompt of each. A person who decides for an execution must see on whose behalf it asks.

import { executionPath } from "./api.js";
import { h } from "./dom.js";
import { revealed } from "./reveal.js";

/**
 * @param {{executionId: string, name: string, asked: string}[] | null | undefined} path the root first
 * @param {string} [here] the execution whose page this is: its step is no link
 * @returns {HTMLElement | null} null: it is a root
 */
export function pathView(path, here) {
  if (!Array.isArray(path) || path.length === 0) return null;
  const steps = h("ol", {}, path.map((step) => stepView(step, step.executionId === here)));
  return here === undefined ? h("div", { class: "path small" }, steps) : h("nav", { class: "path small", "aria-label": "Who was asked for what" }, steps);
}

function stepView({ executionId, name, asked }, isHere) {
  const who = isHere ? h("strong", { "aria-current": "page" }, revealed(name || "agent")) : h("a", { href: `#${executionPath(executionId)}` }, revealed(name || "agent"));
  return h("li", {}, who, asked && h("span", { class: "muted" }, ", asked “", revealed(asked), "”"));
}
