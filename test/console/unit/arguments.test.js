// What a person signs for is shown whole: each argument, folded where it is long and never cut, and edited without a change of what was not touched.

import assert from "node:assert/strict";
import { test } from "node:test";

import { coveredBy, editable, membersOf } from "../../../internal/console/web/arguments.js";
import { changesOf } from "../../../internal/console/web/changes.js";
import { foldOf, longest } from "../../../internal/console/web/fold.js";

const lines = (count) => Array.from({ length: count }, (_, place) => `line ${place + 1}\n`).join("");

test("the members of an object stand by name, in the order of the call", () => {
  assert.deepEqual(membersOf({ command: "ls", timeoutSeconds: 5 }), [{ name: "command", value: "ls" }, { name: "timeoutSeconds", value: 5 }]);
  assert.deepEqual(membersOf({}), []);
  for (const odd of [null, "not JSON", 5, ["a"], undefined]) assert.equal(membersOf(odd), null);
});

test("what is short is not folded", () => {
  assert.equal(foldOf(""), null);
  assert.equal(foldOf(lines(199)), null);
  assert.equal(foldOf("x".repeat(longest.characters)), null);
});

test("what is long is folded in its middle, and says how much that is", () => {
  const { head, middle, tail, amount } = foldOf(lines(1000));
  assert.equal(head + middle + tail, lines(1000));
  assert.ok(head.endsWith("line 100\n") && tail.startsWith("line 961\n"));
  assert.equal(amount, "860 lines");
});

test("one endless line is folded as well, and no character is torn", () => {
  for (const text of ["x".repeat(50_000), "😀".repeat(20_000), `a${"😀".repeat(20_000)}`, `${"x".repeat(30_000)}\nend`]) {
    const { head, middle, tail } = foldOf(text);
    assert.equal(head + middle + tail, text);
    for (const part of [head, middle, tail]) assert.ok(part.length > 0 && part.isWellFormed());
  }
  assert.equal(foldOf("x".repeat(50_000)).amount, "38,000 characters");
});

test("what the changes show letter by letter is not shown twice", () => {
  const one = [{ diff: "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n" }];
  assert.deepEqual([...coveredBy("write", { path: "a", content: "x\n" }, one)], ["content"]);
  const edit = { path: "a", oldText: "a\nx", newText: "a\ny", replaceAll: true };
  assert.deepEqual([...coveredBy("edit", edit, changesOf("edit", edit))], ["oldText", "newText"]);
  assert.deepEqual([...coveredBy("patch", { patch: one[0].diff }, one)], ["patch"]);
});

test("where the changes show less than the arguments, both are shown", () => {
  const one = [{ diff: "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n" }];
  assert.equal(coveredBy("patch", { patch: `hidden\n${one[0].diff}` }, one).size, 0);
  assert.equal(coveredBy("edit", { oldText: "same", newText: "same" }, [{ diff: "" }]).size, 0);
  assert.equal(coveredBy("write", { content: "x" }, []).size, 0);
  assert.equal(coveredBy("bash", { command: "ls" }, one).size, 0);
});

test("an edit whose hunks leave lines out is shown as changes and as texts", () => {
  const old = lines(30);
  const edit = { path: "a", oldText: old, newText: old.replace("line 1\n", "LINE 1\n") };
  assert.equal(coveredBy("edit", edit, changesOf("edit", edit)).size, 0);
  const twice = { path: "a", oldText: "x", newText: "y", OldText: "z" };
  assert.deepEqual([...coveredBy("edit", twice, changesOf("edit", twice))], ["newText"], "the server reads the one that came last");
});

test("texts are edited as they are, and all else as JSON", () => {
  assert.deepEqual(editable("df -h\nls"), { text: "df -h\nls", json: false });
  assert.deepEqual(editable({ b: 1, a: [true] }), { text: '{\n  "a": [\n    true\n  ],\n  "b": 1\n}', json: true });
  assert.deepEqual(editable(null), { text: "null", json: true });
});

test("a text with something that an edit field would hide or change is edited as JSON", () => {
  for (const text of ["a\r\nb", "a\u202eb", "a\u200bb", "a\u00a0b"]) {
    const { text: shown, json } = editable(text);
    assert.ok(json);
    assert.match(shown, /^"[\x20-\x7e]*"$/);
    assert.equal(JSON.parse(shown), text);
  }
});
