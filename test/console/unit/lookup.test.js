// Words that models and agents choose are looked up in tables. What every object has, such as "constructor", is in none of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { coveredBy } from "../../../internal/console/web/arguments.js";
import { confinementText } from "../../../internal/console/web/asker.js";
import { lookup } from "../../../internal/console/web/lookup.js";
import { noticeOf } from "../../../internal/console/web/notices.js";
import { optionsOf } from "../../../internal/console/web/options.js";
import { partsOf } from "../../../internal/console/web/question.js";

const foreign = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];

test("a table has its own words, and no others", () => {
  assert.equal(lookup({ a: 1 }, "a"), 1);
  for (const word of [...foreign, "", undefined, null, 5, ["a"], { toString: 1 }]) assert.equal(lookup({ a: 1 }, word), undefined);
});

for (const word of foreign) {
  test(`"${word}" is a word like any other`, () => {
    assert.equal(partsOf({ properties: { one: { type: word } } })[0].kind, "json");
    assert.equal(optionsOf([{ optionId: "a", name: "a", kind: word }])[0].meaning, `The agent calls this “${word}”.`);
    assert.equal(coveredBy(word, {}, [{ diff: "x" }]).size, 0);
    assert.equal(confinementText(word), word);
    assert.equal(noticeOf({ type: "turn.continued", data: { mode: word } }).text, `The turn goes on (${word}).`);
    assert.match(noticeOf({ type: "budget.warned", data: { limit: word, used: 4, max: 5 } }).text, new RegExp(`\\(${word}\\)`));
  });
}

test("a length with more digits than a number has makes no error", () => {
  for (const maxLength of [JSON.rawJSON?.("12345678901234567890"), { toString: 1 }, "200", null]) {
    assert.equal(partsOf({ properties: { one: { type: "string", maxLength } } })[0].long, true);
  }
});
