// Long texts, folded. The middle of what nobody reads at once is put behind a button that says how much it is; nothing is ever left out in
// silence. Whoever is asked to approve must be able to tell whether all was looked at: see allSeen.

import { h } from "./dom.js";
import { plural } from "./format.js";
import { reveal } from "./reveal.js";

/** What is longer than one of these is folded. */
export const longest = { lines: 200, characters: 20_000 };
const head = { lines: 100, characters: 8_000 };
const tail = { lines: 40, characters: 4_000 };

/**
 * Cuts a long text in three.
 * @returns {{head: string, middle: string, tail: string, amount: string} | null} null: it is short enough
 */
export function foldOf(text) {
  if (text.length <= longest.characters && countLines(text) <= longest.lines) return null;
  const first = headEnd(text);
  const last = Math.max(first, tailStart(text));
  const middle = text.slice(first, last);
  return { head: text.slice(0, first), middle, tail: text.slice(last), amount: amountOf(middle) };
}

function countLines(text) {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function headEnd(text) {
  let end = 0;
  for (let line = 0; line < head.lines; line++) {
    const next = text.indexOf("\n", end) + 1;
    if (next === 0 || next > head.characters) break;
    end = next;
  }
  return end > 0 ? end : whole(text, head.characters);
}

function tailStart(text) {
  let start = text.length;
  for (let line = 0; line < tail.lines; line++) {
    const next = text.lastIndexOf("\n", start - 2) + 1;
    if (next === 0 || text.length - next > tail.characters) break;
    start = next;
  }
  return start < text.length ? start : whole(text, text.length - tail.characters);
}

/** A place that does not lie within a character. */
function whole(text, at) {
  return text.codePointAt(at - 1) > 0xffff ? at - 1 : at;
}

function amountOf(middle) {
  const lines = countLines(middle) - (middle.endsWith("\n") ? 1 : 0);
  return lines > 1 ? plural(lines, "line") : plural(middle.length, "character");
}

/** An element with a text, letter by letter, in which all lines stand as they are. A long one is folded. */
export function wholeText(text, { className = "code exact", show = reveal } = {}) {
  const element = h("pre", { class: className, dir: "ltr" });
  const parts = foldOf(text);
  if (parts === null) element.append(show(text));
  else element.append(show(parts.head), fold(parts.amount, () => show(parts.middle)), show(parts.tail));
  return element;
}

/** What stands for something long until it is asked for: it is gone when make() has made the rest. */
export function fold(amount, make) {
  const text = amount.startsWith("1 ") ? `${amount} is not shown` : `${amount} are not shown`;
  const element = h("span", { class: "fold", "data-folded": true }, h("span", {}, text),
    h("button", { type: "button", class: "small", on: { click: unfold } }, "Show all"));
  return element;

  function unfold() {
    const around = element.parentElement;
    element.replaceWith(make());
    around.tabIndex = -1; // the focus must go somewhere, now that the button is gone
    around.focus({ preventScroll: true });
    around.dispatchEvent(new CustomEvent("unfold", { bubbles: true }));
  }
}

/** Tells whether nothing is folded any more, but for what is there a second time. An "unfold" event bubbles up when that may have changed. */
export function allSeen(element) {
  return [...element.querySelectorAll("[data-folded]")].every((one) => one.closest("[data-twice]") !== null);
}
