// Whether an agent or a model can be used, and what to do where it cannot.

import { h } from "./dom.js";
import { revealed } from "./reveal.js";

/** Available, or not and why: with the command that installs it, where the server knows one. */
export function availability(entry) {
  const badge = h("span", { class: "badge", data: { status: entry.available ? "succeeded" : "failed" } }, entry.available ? "available" : "not available");
  if (entry.reason === null) return h("div", { class: "availability row" }, badge);
  return h("div", { class: "availability stack" }, h("div", { class: "row" }, badge), h("p", { class: "reason" }, revealed(entry.reason)));
}
