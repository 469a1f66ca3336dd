// What a call wants to change in files, read out of its arguments or out of the reports of an external agent. It mirrors the server's
// reading (internal/events/items), line for line. All of it is hostile: what cannot be read makes no diff, and never an error.

import { bounded } from "./bytes.js";
import { compared, lines, unified } from "./compare.js";

/** How many files of one call are shown. */
export const maxChanges = 200;
const pathBytes = 4096;
const devNull = "/dev/null";

/** Reads the arguments of the tools that change files: [{path, diff, additions, deletions}]; undefined for all other tools. */
export function changesOf(tool, values) {
  return Object.hasOwn(readers, tool) ? readers[tool](values) : undefined;
}

const readers = { write: written, writeTextFile: written, edit: edited, patch: patched };

function written(values) {
  const wanted = texts(values, ["path", "content"]);
  return wanted === undefined || wanted.path === "" ? [] : [fileDiff(wanted.path, undefined, wanted.content)];
}

function edited(values) {
  const wanted = texts(values, ["path", "oldText", "newText"]);
  return wanted === undefined || wanted.path === "" ? [] : [fileDiff(wanted.path, wanted.oldText, wanted.newText)];
}

function patched(values) {
  const wanted = texts(values, ["patch"]);
  return wanted === undefined ? [] : splitPatch(wanted.patch);
}

/** The members of these names; undefined where one is no text. A missing one is empty, and capitals do not count, as the server reads. */
function texts(values, names) {
  if (values === null || typeof values !== "object" || Array.isArray(values)) return undefined;
  const found = Object.fromEntries(names.map((name) => [name, ""]));
  for (const [given, value] of Object.entries(values)) {
    const name = names.find((one) => one.toLowerCase() === given.toLowerCase());
    if (name === undefined || value === null) continue;
    if (typeof value !== "string") return undefined;
    found[name] = value;
  }
  return found;
}

/** Reads what an external agent's report shows of its call: what it says, and what it changes. */
export function reportedContent(content) {
  const said = [];
  const diffs = [];
  for (const entry of Array.isArray(content) ? content : []) {
    const shown = reportedEntry(entry);
    if (shown === undefined) continue;
    if (shown.type === "diff" && shown.path !== "" && diffs.length < maxChanges) diffs.push(fileDiff(shown.path, shown.oldText, shown.newText));
    else if (shown.text !== "") said.push(shown.text);
  }
  return { said, diffs };
}

function reportedEntry(entry) {
  const shown = texts(entry, ["type", "path", "oldText", "newText"]);
  const inner = texts(entry?.content ?? {}, ["text"]);
  if (shown === undefined || inner === undefined) return undefined;
  return { ...shown, oldText: typeof entry.oldText === "string" ? shown.oldText : undefined, text: inner.text };
}

/** Compares two texts. `before` is undefined for a file that is not there, or of which nothing is known. */
export function fileDiff(fullPath, before, after) {
  const path = bounded(fullPath, pathBytes).beginning;
  const old = lines(before ?? "");
  const current = lines(after);
  if (before !== undefined) endAlike(old, current);
  const script = compared(old, current);
  const hunks = unified(script);
  const from = before === undefined ? devNull : headerPath(path);
  return {
    path,
    diff: hunks === "" ? "" : `--- ${from}\n+++ ${headerPath(path)}\n${hunks}`,
    additions: script.filter((line) => line.op === "+").length,
    deletions: script.filter((line) => line.op === "-").length,
  };
}

/** Parts of a file need no line feed at their end; a diff would say of each that it is missing. */
function endAlike(old, current) {
  if (old.length === 0 || current.length === 0 || old.at(-1).endsWith("\n") || current.at(-1).endsWith("\n")) return;
  old[old.length - 1] += "\n";
  current[current.length - 1] += "\n";
}

/** A path as it stands in the lines before a diff; it must stay in its line. */
function headerPath(path) {
  return /\p{Cc}/u.test(path) ? quote(path) : path;
}

const escapes = { "\x07": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"' };

function quote(path) {
  const quoted = path.replace(/["\\]|[^\P{C} ]|[^\P{Z} ]/gu, (character) => {
    const code = character.codePointAt(0);
    if (escapes[character] !== undefined) return escapes[character];
    if (code < 0x80) return `\\x${hex(code, 2)}`;
    return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
  });
  return `"${quoted}"`;
}

function hex(code, digits) {
  return code.toString(16).padStart(digits, "0");
}

/** The part of each file of a patch, as it was written. It does not judge: what cannot be applied fails as a call. */
function splitPatch(patch) {
  const all = lines(patch);
  const files = [];
  for (let at = 0; at < all.length && files.length < maxChanges;) {
    if (!beginsFile(all, at)) {
      at++;
      continue;
    }
    let end = at + 2;
    while (end < all.length && !beginsFile(all, end) && !all[end].startsWith("diff --git ")) end++;
    files.push(patchedFile(all.slice(at, end)));
    at = end;
  }
  return files;
}

/** The names of a file, with a hunk behind them: a removed and an added line can look like names without it. */
function beginsFile(all, at) {
  return at + 2 < all.length && all[at].startsWith("--- ") && all[at + 1].startsWith("+++ ") && all[at + 2].startsWith("@@");
}

function patchedFile(part) {
  const starting = (op) => part.slice(2).filter((line) => line.startsWith(op)).length;
  return { path: patchedPath(part[0], part[1]), diff: part.join(""), additions: starting("+"), deletions: starting("-") };
}

/** The path in the two lines with names. Git's letters before it go only together: a folder may well be called a. */
function patchedPath(before, after) {
  let from = patchedName(before);
  let to = patchedName(after);
  if ((from.startsWith("a/") || from === devNull) && (to.startsWith("b/") || to === devNull)) {
    from = from.replace(/^a\//, "");
    to = to.replace(/^b\//, "");
  }
  return bounded(to === devNull ? from : to, pathBytes).beginning;
}

/** The name in such a line. Git quotes what is not plain, and behind a tab stands a time. */
function patchedName(line) {
  const name = line.slice("--- ".length).replace(/[ \r\n]+$/, "");
  const quoted = /^"(?:[^"\\]|\\.)*"/.exec(name);
  return (quoted === null ? undefined : unquote(quoted[0].slice(1, -1))) ?? name.split("\t")[0];
}

const plain = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, "\\": 92, '"': 34 };

/** Reads what Git has quoted, byte by byte; undefined where it cannot be read. */
function unquote(text) {
  const bytes = [];
  const parts = text.match(/\\[0-7]{3}|\\x[0-9a-fA-F]{2}|\\[abfnrtv\\"]|[^\\]+/g) ?? [];
  if (parts.join("") !== text) return undefined;
  for (const part of parts) {
    if (!part.startsWith("\\")) bytes.push(...new TextEncoder().encode(part));
    else if (part.length === 2) bytes.push(plain[part[1]]);
    else bytes.push(part[1] === "x" ? parseInt(part.slice(2), 16) : parseInt(part.slice(1), 8) & 255);
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
