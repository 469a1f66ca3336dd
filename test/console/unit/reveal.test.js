// What a person does not see must be marked: here as on the server, whose table of marked characters is reveal.json (internal/domain).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { escaped, pieces, revealText } from "../../../internal/console/web/reveal.js";
import { callPieces, revealCallText } from "../../../internal/console/web/suspect.js";

const table = JSON.parse(readFileSync(new URL("reveal.json", import.meta.url), "utf8"));

const marks = (text) => pieces(text).filter((piece) => piece.title !== undefined).map((piece) => piece.text);
const isMarked = (text) => marks(text).length > 0;

const isLeftward = (one) => [[0x590, 0x8ff], [0xfb1d, 0xfdff], [0xfe70, 0xfeff], [0x10800, 0x10fff], [0x1e800, 0x1efff]]
  .some(([first, last]) => first <= one && one <= last);

for (const [what, spans, read] of [["text", table.unseen, pieces], ["what somebody decides on", table.suspects, callPieces]]) {
  test(`in ${what} the same characters are marked as on the server, but for the tab`, () => {
    const all = new Set();
    for (const span of spans) {
      const [first, last] = span.split("-").map((number) => parseInt(number, 16));
      for (let one = first; one <= last; one++) all.add(one);
    }
    all.delete("\t".codePointAt(0));
    const wrong = [];
    for (let one = 0; one <= 0x10ffff; one++) {
      if (one >= 0xd800 && one <= 0xdfff) continue; // Go has no such characters
      const character = String.fromCodePoint(one);
      const isMarked = read(character).some((piece) => piece.title !== undefined);
      if (isMarked && isLeftward(one)) continue; // by its block; the server's table has those alone that are assigned there
      if (isMarked !== all.has(one) && !/\p{Cn}/u.test(character)) wrong.push(`U+${one.toString(16)}`);
    }
    assert.deepEqual(wrong, []);
  });
}

test("the same texts come out, but for the tab", () => {
  for (const [text, shown] of Object.entries(table.samples)) assert.equal(revealText(text), shown.replaceAll("⟨U+0009⟩", "\t"));
  for (const [text, shown] of Object.entries(table.calls)) assert.equal(revealCallText(text), shown);
});

test("a look-alike is marked, and a word that is only in another script is not", () => {
  assert.deepEqual(callPieces("сat привет"), [{ text: "U+0441", title: "U+0441, which only looks like ASCII" }, { text: "at привет" }]);
  assert.deepEqual(callPieces("a\u05d0"), [{ text: "a" }, { text: "U+05D0", title: "U+05D0, which runs from right to left" }]);
});

test("what is no character yet is marked, and so is half of one", () => {
  assert.deepEqual(marks("a\u0378b\ud800c\udc00"), ["U+0378", "U+D800", "U+DC00"]);
});

test("a mark names the character", () => {
  assert.deepEqual(pieces("a\u202eb"), [{ text: "a" }, { text: "U+202E", title: "U+202E RIGHT-TO-LEFT OVERRIDE" }, { text: "b" }]);
  assert.equal(pieces("\u{e0072}")[0].title, "U+E0072 TAG r");
});

test("the same character many times is one mark", () => {
  assert.deepEqual(marks("a\u200b\u200b\u200bb\u200c"), ["U+200B ×3", "U+200C"]);
  assert.equal(pieces("\u{e0041}".repeat(5000)).length, 1);
});

test("a tail behind many blanks is seen", () => {
  assert.equal(revealText(`ls${" ".repeat(200)}; rm -rf /`), "ls⟨200 blanks⟩; rm -rf /");
  assert.equal(revealText(`ls${"\t".repeat(9)}; id`), "ls⟨9 blanks⟩; id");
  assert.equal(isMarked("ls        ; id"), false, "eight blanks are a column");
});

test("code may be indented, but not out of sight", () => {
  assert.equal(isMarked(`if\n${" ".repeat(40)}then`), false);
  assert.equal(isMarked(`${" ".repeat(12)}then`), false);
  assert.deepEqual(marks(`if\n${" ".repeat(41)}then`), ["41 blanks"]);
});

test("a tail behind many empty lines is seen", () => {
  assert.equal(revealText("ls\n\n\n\nid"), "ls\n\n\n\nid", "three empty lines are a gap");
  assert.equal(revealText("ls\n\n\n\n\nid"), "ls\n⟨4 empty lines⟩\nid");
  assert.equal(revealText(`ls${"\n   \t".repeat(300)}\nid`), "ls\n⟨300 empty lines⟩\nid");
  assert.equal(revealText("\n\n\n\n\n\nid"), "⟨6 empty lines⟩\nid");
});

test("text that is long and hostile is taken apart in no time", () => {
  for (const text of ["\n   ".repeat(200_000), `${"\n   ".repeat(3)}x`.repeat(100_000), `${" ".repeat(8)}x`.repeat(100_000), "\u202e\u202d".repeat(100_000), "с".repeat(400_000), "сп ".repeat(200_000), `${"п".repeat(400_000)}a`]) {
    assert.ok(pieces(text).length > 0);
    assert.ok(callPieces(text).length > 0);
  }
});

test("for editing, nothing is hidden in JSON", () => {
  const text = "a\u202e\r\n\u{e0041}\u00a0\"";
  assert.equal(escaped(text), "\"a\\u202e\\r\\n\\udb40\\udc41\\u00a0\\\"\"");
  assert.equal(JSON.parse(escaped(text)), text);
});
