// A change of a file, as a person reads it: line by line, what goes and what comes in letters as well as in colours, with nothing hidden
// in a line. A long one is folded, see fold.js.

import { changesOf, fileDiff, reportedContent } from "./changes.js";
import { h } from "./dom.js";
import { fold, longest } from "./fold.js";
import { plural } from "./format.js";
import { revealCall, revealedCall } from "./suspect.js";

/**
 * @param {string} unified
 * @param {{path: string, additions: number, deletions: number, note?: string}} about
 * @returns {HTMLElement}
 */
export function diffView(unified, { path, additions, deletions, note }) {
  return h("figure", { class: "diff" },
    h("figcaption", {}, h("span", { class: "path mono" }, revealedCall(path)), countsView(additions, deletions)),
    note && h("p", { class: "hint" }, note), linesView(unified, path) ?? h("p", { class: "muted" }, "No line changes."));
}

/** The lines of a change, one below the other; null: there are none. */
export function linesView(unified, path) {
  const rows = rowsOf(unified, path);
  return rows.length === 0 ? null : h("div", { class: "lines mono", dir: "ltr" }, foldedRows(rows));
}

/** The numbers of added and removed lines: +3 −1. */
export function countsView(additions, deletions) {
  return h("span", { class: "counts" }, h("span", { class: "plus" }, `+${additions}`), " ", h("span", { class: "minus" }, `−${deletions}`),
    h("span", { class: "spoken" }, ` ${plural(additions, "line")} added, ${plural(deletions, "line")} removed`));
}

function foldedRows(rows) {
  if (rows.length <= longest.lines && characters(rows) <= longest.characters) return rows.map(rowView);
  const first = fitting(rows, 100, 8_000);
  const last = rows.length - fitting(rows.slice(first).reverse(), 40, 4_000);
  const middle = () => {
    const fragment = document.createDocumentFragment();
    fragment.append(...rows.slice(first, last).map(rowView));
    return fragment;
  };
  return [...rows.slice(0, first).map(rowView), first < last && fold(plural(last - first, "line"), middle), ...rows.slice(last).map(rowView)];
}

function characters(rows) {
  return rows.reduce((sum, row) => sum + row.text.length, 0);
}

/** How many of the first rows are within the bounds. */
function fitting(rows, lines, length) {
  let count = 0;
  for (let sum = 0; count < Math.min(rows.length, lines); count++) {
    sum += rows[count].text.length;
    if (sum > length) break;
  }
  return count;
}

const signs = { added: "+", deleted: "−", context: " ", hunk: "", note: "" };
const spoken = { added: "added: ", deleted: "removed: " };

function rowView({ kind, old, current, text }) {
  return h("div", { class: `line ${kind}` },
    h("span", { class: "number", "aria-hidden": "true" }, old ?? ""), h("span", { class: "number", "aria-hidden": "true" }, current ?? ""),
    h("span", { class: "sign", "aria-hidden": "true" }, signs[kind]),
    h("span", { class: "text" }, spoken[kind] && h("span", { class: "spoken" }, spoken[kind]), revealCall(text)));
}

/**
 * The lines of a unified diff: [{kind: "added" | "deleted" | "context" | "hunk" | "note", old?, current?, text}], with their numbers in the two
 * files. The two lines with the names are left out where they only repeat the path; what is no diff at all comes as notes.
 */
export function rowsOf(unified, path) {
  if (unified === "") return [];
  const lines = unified.replace(/\n$/, "").split("\n");
  const start = repeats(lines[0], "--- ", path) && repeats(lines[1] ?? "", "+++ ", path) ? 2 : 0;
  const at = { old: 1, current: 1, begun: false };
  return lines.slice(start).map((line) => rowOf(line, at));
}

function repeats(line, sign, path) {
  const name = line.slice(sign.length).replace(/[ \r]+$/, "");
  return line.startsWith(sign) && [path, `a/${path}`, `b/${path}`, "/dev/null"].includes(name);
}

function rowOf(line, at) {
  const hunk = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/.exec(line);
  if (hunk !== null) {
    [at.old, at.current, at.begun] = [Number(hunk[1]), Number(hunk[3]), true];
    return { kind: "hunk", text: line };
  }
  const text = line.slice(1);
  if (!at.begun) return { kind: "note", text: line };
  if (line.startsWith("+")) return { kind: "added", current: at.current++, text };
  if (line.startsWith("-")) return { kind: "deleted", old: at.old++, text };
  if (line.startsWith(" ") || line === "") return { kind: "context", old: at.old++, current: at.current++, text };
  return { kind: "note", text: line };
}

/**
 * The changes that an approval is about, as far as its arguments tell: [{path, diff, additions, deletions, note}]. Nobody has looked into the
 * files.
 */
export function diffsOf({ kind, tool, arguments: args }) {
  if (kind === "agentPermission") return agentsDiffs(args).map((diff) => ({ ...diff, note: notes.agent }));
  const own = changesOf(tool, args) ?? [];
  return own.map((diff) => ({ ...diff, note: tool === "edit" && args.replaceAll === true ? notes.everywhere : notes[tool] }));
}

const notes = {
  write: "The whole file is written. Its current content is not shown.",
  writeTextFile: "The whole file is written. Its current content is not shown.",
  edit: "Lines are counted from the beginning of the text that is replaced.",
  everywhere: "Every place in the file is changed, and one is shown. Lines are counted from the beginning of the text that is replaced.",
  agent: "So the agent describes its change, which it makes itself.",
};

/** What an external agent says of a change: in its report, or in arguments of the names that agents commonly use. */
function agentsDiffs(args) {
  if (args === null || typeof args !== "object") return [];
  const reported = reportedContent(args.content).diffs;
  if (reported.length > 0) return reported;
  const input = args.rawInput !== null && typeof args.rawInput === "object" ? args.rawInput : args;
  const path = textOf(input, ["file_path", "filePath", "path"]);
  return path === undefined ? [] : guessed(path, input);
}

function guessed(path, input) {
  const edits = Array.isArray(input.edits) ? input.edits.slice(0, 200) : [input];
  return edits.map((edit) => guessedEdit(path, edit)).filter((diff) => diff !== undefined);
}

function guessedEdit(path, edit) {
  if (edit === null || typeof edit !== "object") return undefined;
  const before = textOf(edit, ["old_string", "oldString", "old_str", "oldText"]);
  const after = textOf(edit, ["new_string", "newString", "new_str", "newText"]);
  if (before !== undefined && after !== undefined) return fileDiff(path, before, after);
  return typeof edit.content === "string" ? fileDiff(path, undefined, edit.content) : undefined;
}

function textOf(object, names) {
  return names.map((name) => object[name]).find((value) => typeof value === "string");
}
