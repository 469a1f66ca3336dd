// JSON as it came: nothing is rounded where the browser can tell, and no document stops a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { parseJSON, showJSON } from "../../../internal/console/web/json.js";

test("what is equal looks equal", () => {
  assert.equal(showJSON(parseJSON('{"b": 1, "a": [true, null]}')), showJSON({ a: [true, null], b: 1 }));
});

test("a document that is deeper than any stack is cut, and not refused", () => {
  const deep = (levels) => `{"kept": 1, "deep": ${"[".repeat(levels)}${"]".repeat(levels)}}`;
  assert.doesNotMatch(showJSON(parseJSON(deep(64))), /too deep/);
  const read = parseJSON(deep(60_000));
  assert.equal(read.kept, 1);
  assert.match(showJSON(read), /too deep to be shown/);
});

test("what is no JSON is told", () => {
  for (const text of ["", "{", '{"a": }', "[".repeat(60_000)]) assert.throws(() => parseJSON(text), SyntaxError);
});
