// The arguments of a call, as a person reads them who is to sign for them: each by its name, with its whole value. Texts have real line ends
// and hide nothing; all else is JSON. Nothing is cut: what is long is folded, see fold.js.

import { rowsOf } from "./diff.js";
import { fill, h } from "./dom.js";
import { wholeText } from "./fold.js";
import { showJSON } from "./json.js";
import { lookup } from "./lookup.js";
import { escaped } from "./reveal.js";
import { revealCall, revealedCall } from "./suspect.js";

/**
 * @param {string} tool
 * @param {unknown} args what the call is given; hostile, and perhaps no object at all
 * @param {{diffs?: Array<{diff: string}>}} [shown] the changes that stand beside it: what they show is not shown twice
 * @returns {HTMLElement}
 */
export function argumentsView(tool, args, { diffs = [] } = {}) {
  const members = membersOf(args);
  if (members === null) return h("div", { class: "arguments" }, valueView(args));
  if (members.length === 0) return h("div", { class: "arguments muted" }, "It has no arguments.");
  const twice = coveredBy(tool, args, diffs);
  return h("div", { class: "arguments stack" },
    h("dl", { class: "members" }, members.map(({ name, value }) => memberView(name, value, twice.has(name)))),
    asJSON(args));
}

/** The members of what is an object: [{name, value}]; else null. */
export function membersOf(args) {
  if (args === null || typeof args !== "object" || Array.isArray(args) || JSON.isRawJSON?.(args)) return null;
  return Object.entries(args).map(([name, value]) => ({ name, value }));
}

/** The names of the arguments of which the diffs show every letter: a diff leaves out the lines that are far from any change. */
export function coveredBy(tool, args, diffs) {
  const shown = diffs.length === 0 ? [] : Object.entries(lookup(covering, tool) ?? {});
  return new Set(shown.filter(([name, read]) => typeof args[name] === "string" && withEnd(read(diffs)) === withEnd(args[name])).map(([name]) => name));
}

const old = sideOf("context", "deleted");
const current = sideOf("context", "added");
const covering = {
  write: { content: current }, writeTextFile: { content: current }, edit: { oldText: old, newText: current },
  patch: { patch: (diffs) => diffs.map(({ diff }) => diff).join("") },
};

/** Reads the lines of one side of a diff back out of it. */
function sideOf(...kinds) {
  return ([{ diff, path }]) => rowsOf(diff, path).filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text).join("\n");
}

function withEnd(text) {
  return text.endsWith("\n") || text === "" ? text : `${text}\n`;
}

function memberView(name, value, twice) {
  return h("div", {}, h("dt", {}, revealedCall(name), typeNote(value)), h("dd", {}, twice ? twiceView(value) : valueView(value)));
}

/** A text "5" and a number 5 look alike, and are not. */
function typeNote(value) {
  const note = typeof value === "string" ? null : typeName(value);
  return note === null ? null : h("span", { class: "type" }, ` ${note}`);
}

function typeName(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value === "object" && !JSON.isRawJSON?.(value) ? "object" : typeof value === "object" ? "number" : typeof value;
}

function valueView(value) {
  if (value === "") return h("span", { class: "muted" }, "empty");
  return wholeText(typeof value === "string" ? value : showJSON(value) ?? "–", { show: revealCall });
}

function twiceView(value) {
  return later("Shown as changes; as text", () => valueView(value));
}

function asJSON(args) {
  return later("All of it as JSON", () => h("pre", { class: "code exact", dir: "ltr" }, revealCall(showJSON(args))));
}

/** Something that stands there already in another way, made when it is opened. */
function later(title, make) {
  const inner = h("div");
  const open = (event) => event.target.open && inner.childElementCount === 0 && fill(inner, make());
  return h("details", { "data-twice": true, on: { toggle: open } }, h("summary", {}, title), inner);
}

/** A value as a person edits it: JSON, but for a text that is all visible, which is itself. */
export function editable(value) {
  if (typeof value !== "string") return { text: showJSON(value), json: true };
  const plain = !value.includes("\r") && escaped(value) === JSON.stringify(value);
  return plain ? { text: value, json: false } : { text: escaped(value), json: true };
}
