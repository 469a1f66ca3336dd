// Text in which a person sees every character. What prints as nothing, as blank, or turns the reading direction is shown by its number, and
// so are long runs of blanks and of empty lines: a command, two hundred blanks, and "; rm -rf /" must not pass for the command alone.
//
// The server does the same (domain.ShowUnseen), and a table that both are tested with holds the two together. There are two differences:
// here a tab stays a tab, and runs of blanks and lines are marked as well. What somebody decides on passes through suspect.js, which marks more.

import { h } from "./dom.js";

/** Runs of more blanks than this are told by their length; before the first letter of a line, where code is indented, of more than that. */
const mostBlanks = 8;
const mostIndented = 40;
const mostEmptyLines = 3;

/** What nobody sees in a text, as a part of a pattern: blanks and line ends are in it. */
export const unseen = String.raw`[\p{C}\p{Z}\p{Variation_Selector}\u034F\u115F\u1160\u17B4\u17B5\u2800\u3164\uFFA0]`;
const emptyLines = String.raw`\n(?:[ \t]*\n){${mostEmptyLines + 1},}`;
const blanks = String.raw`[ \t]{${mostBlanks + 1},}`;
const marked = new RegExp(`(?<lines>${emptyLines})|(?<blanks>${blanks})|(?<character>(?![ \\n\\t])${unseen})\\k<character>*`, "gu");

/**
 * Takes a text apart: pieces of text as they are, and marks for what would not be seen.
 * @returns {Array<{text: string, title?: string}>} a piece with a title is a mark
 */
export function pieces(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(marked)) {
    const mark = markOf(match);
    if (mark === undefined) continue;
    if (match.index > end) found.push({ text: text.slice(end, match.index) });
    found.push(...mark);
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end) });
  return found;
}

function markOf({ 0: run, index, input, groups }) {
  if (groups.lines !== undefined) return linesMark(run, index);
  if (groups.blanks !== undefined) return blanksMark(run, index === 0 || input[index - 1] === "\n");
  return [characterMark(groups.character, run.length / groups.character.length)];
}

function linesMark(run, index) {
  const count = run.split("\n").length - (index === 0 ? 1 : 2);
  const mark = { text: `${count} empty lines`, title: `${count} empty lines one after the other` };
  return index === 0 ? [mark, { text: "\n" }] : [{ text: "\n" }, mark, { text: "\n" }];
}

function blanksMark(run, indents) {
  if (indents && run.length <= mostIndented) return undefined;
  return [{ text: `${run.length} blanks`, title: `${run.length} blanks one after the other` }];
}

function characterMark(character, times) {
  const number = numberOf(character);
  const name = nameOf(character.codePointAt(0));
  const title = name === "" ? number : `${number} ${name}`;
  return times === 1 ? { text: number, title } : { text: `${number} ×${times}`, title: `${title}, ${times} times` };
}

/** A character's number, as Unicode writes it. */
export function numberOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text as nodes, its marks made visible. */
export function reveal(text) {
  return nodes(pieces(String(text)));
}

/** Pieces as nodes. */
export function nodes(all) {
  const fragment = document.createDocumentFragment();
  for (const { text, title } of all) fragment.append(title === undefined ? text : h("span", { class: "unseen", title }, text));
  return fragment;
}

/** The same as an element that lets no letter outside of it change its place. */
export function revealed(text) {
  return h("bdi", { dir: "ltr" }, reveal(text));
}

/** The same in letters alone, for what takes no elements: names that are read aloud, notifications, titles. */
export function revealText(text) {
  return textOf(pieces(String(text)));
}

/** Pieces as a text. */
export function textOf(all) {
  return all.map(({ text, title }) => (title === undefined ? text : `⟨${text}⟩`)).join("");
}

/** A text as a JSON string in which nothing is hidden, for who wants to edit it. */
export function escaped(text) {
  const one = new RegExp(`(?![ \\n\\t])${unseen}`, "gu");
  return JSON.stringify(text).replace(one, (character) => character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));
}

/** What Unicode calls a character that is not seen. */
function nameOf(number) {
  if (names[number] !== undefined) return names[number];
  if (number < 0x20 || (number >= 0x7f && number <= 0x9f)) return "CONTROL CHARACTER";
  if (number >= 0xd800 && number <= 0xdfff) return "HALF OF A CHARACTER";
  if ((number >= 0xfe00 && number <= 0xfe0f) || (number >= 0xe0100 && number <= 0xe01ef)) return "VARIATION SELECTOR";
  if (number >= 0xe0020 && number <= 0xe007e) return `TAG ${String.fromCodePoint(number - 0xe0000)}`;
  return "";
}

const names = {
  0x00: "NULL", 0x07: "BELL", 0x08: "BACKSPACE", 0x0b: "LINE TABULATION", 0x0c: "FORM FEED", 0x0d: "CARRIAGE RETURN", 0x1b: "ESCAPE",
  0x7f: "DELETE", 0x85: "NEXT LINE", 0xa0: "NO-BREAK SPACE", 0xad: "SOFT HYPHEN", 0x34f: "COMBINING GRAPHEME JOINER",
  0x61c: "ARABIC LETTER MARK", 0x115f: "HANGUL CHOSEONG FILLER", 0x1160: "HANGUL JUNGSEONG FILLER", 0x1680: "OGHAM SPACE MARK",
  0x180e: "MONGOLIAN VOWEL SEPARATOR", 0x2000: "EN QUAD", 0x2001: "EM QUAD", 0x2002: "EN SPACE", 0x2003: "EM SPACE", 0x2007: "FIGURE SPACE",
  0x2009: "THIN SPACE", 0x200a: "HAIR SPACE", 0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER", 0x200d: "ZERO WIDTH JOINER",
  0x200e: "LEFT-TO-RIGHT MARK", 0x200f: "RIGHT-TO-LEFT MARK", 0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR",
  0x202a: "LEFT-TO-RIGHT EMBEDDING", 0x202b: "RIGHT-TO-LEFT EMBEDDING", 0x202c: "POP DIRECTIONAL FORMATTING", 0x202d: "LEFT-TO-RIGHT OVERRIDE",
  0x202e: "RIGHT-TO-LEFT OVERRIDE", 0x202f: "NARROW NO-BREAK SPACE", 0x205f: "MEDIUM MATHEMATICAL SPACE", 0x2060: "WORD JOINER",
  0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE", 0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE",
  0x2800: "BRAILLE PATTERN BLANK", 0x3000: "IDEOGRAPHIC SPACE", 0x3164: "HANGUL FILLER", 0xfeff: "ZERO WIDTH NO-BREAK SPACE",
  0xffa0: "HALFWIDTH HANGUL FILLER",
};
