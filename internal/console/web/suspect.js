// Text of which a person decides: a command, a path, a summary. Beside what reveal.js marks, it marks what a person may take for something else: a
// Cyrillic с in "сat", the Greek question mark for a semicolon, and all letters of scripts that run from right to left, since these change the
// order in which their neighbours are read. A look-alike stays where nobody can mistake it: in a word with other letters of its script and none
// of ASCII. So does a dash between blanks, as sentences have it. The server does the same for the pages of links and for summaries (domain.Reveal); a table that both are tested with
// holds the two together.

import { h } from "./dom.js";
import { lookAlikes } from "./lookalikes.js";
import { nodes, numberOf, pieces, textOf } from "./reveal.js";

const rightToLeft = String.raw`\u{0590}-\u{08FF}\u{FB1D}-\u{FDFF}\u{FE70}-\u{FEFF}\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}`;
const suspicious = new RegExp(`[${rightToLeft}${lookAlikes}]`, "u");
/** Words have no blanks and no signs of ASCII. What is unseen has been taken out before. */
const parts = new RegExp(String.raw`(?<leftward>[${rightToLeft}])|[^\0-\/:-@\[-\x60\{-\x7F${rightToLeft}]+`, "gu");
const alike = new RegExp(`[${lookAlikes}]`, "gu");
const ascii = /[A-Za-z]/;
const own = new RegExp(String.raw`(?![${lookAlikes}])(?![A-Za-z])\p{L}`, "u");

/**
 * Takes a text apart, see pieces in reveal.js.
 * @returns {Array<{text: string, title?: string}>} a piece with a title is a mark
 */
export function callPieces(text) {
  return pieces(text).flatMap((piece) => (piece.title === undefined ? suspects(piece.text) : [piece]));
}

function suspects(text) {
  if (!suspicious.test(text)) return [{ text }];
  const found = [];
  let end = 0;
  const mark = (character, at, why) => {
    if (at > end) found.push({ text: text.slice(end, at) });
    found.push({ text: numberOf(character), title: `${numberOf(character)}, ${why}` });
    end = at + character.length;
  };
  for (const { 0: part, index, groups } of text.matchAll(parts)) {
    if (groups.leftward !== undefined) mark(part, index, "which runs from right to left");
    else if (deceptive(part) && !spaced(text, index, index + part.length)) for (const { 0: one, index: at } of part.matchAll(alike)) mark(one, index + at, "which only looks like ASCII");
  }
  if (end < text.length) found.push({ text: text.slice(end) });
  return found;
}

/** Tells whether the look-alikes of a word may be taken for ASCII: beside letters of ASCII, or among themselves. */
function deceptive(word) {
  return ascii.test(word) || !own.test(word);
}

/** Tells whether the word from … to of a text is a dash between blanks, as sentences have it. */
function spaced(text, from, to) {
  return /^[\u2012-\u2015]$/.test(text.slice(from, to)) && /^[ \t\n]$/.test(text.charAt(from - 1)) && /^[ \t\n]$/.test(text.charAt(to));
}

/** The text as nodes, its marks made visible. */
export function revealCall(text) {
  return nodes(callPieces(String(text)));
}

/** The same as an element that lets no letter outside of it change its place. */
export function revealedCall(text) {
  return h("bdi", { dir: "ltr" }, revealCall(text));
}

/** The same in letters alone. */
export function revealCallText(text) {
  return textOf(callPieces(String(text)));
}
