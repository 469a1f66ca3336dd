// The parts that the rows of a conversation are made of.

import { fill, h } from "./dom.js";
import { moment } from "./format.js";

/** The frame of a row. */
export function article(name, ...children) {
  return h("article", { class: `item ${name}` }, children);
}

/** When it began. */
export function time(row) {
  return h("time", { class: "muted small", datetime: row.createdAt, title: moment(row.createdAt) }, new Date(row.createdAt).toLocaleTimeString());
}

/** Says that a text is longer than what is there. */
export function cutNote(cut) {
  return h("p", { class: "notice warn small", hidden: !cut }, "Only the beginning is shown; the raw events have the rest.");
}

/** Details that are open when their row comes back into sight, if the person has left them open. */
export function remembered(id, opened, ...children) {
  const details = h("details", { open: opened.get(id) === true }, children);
  details.addEventListener("toggle", () => opened.set(id, details.open));
  return details;
}

const filled = new WeakMap();

/** Fills an element anew where what it says is something else. */
export function once(element, text, make) {
  if (filled.get(element) === text) return;
  filled.set(element, text);
  fill(element, make(text));
}
