// A change is shown line by line, and what an approval is about is read out of its arguments, which may be anything.

import assert from "node:assert/strict";
import { test } from "node:test";

import { diffsOf, rowsOf } from "../../../internal/console/web/diff.js";

const short = (rows) => rows.map(({ kind, old, current, text }) => `${kind} ${old ?? "-"} ${current ?? "-"} ${text}`);

test("lines have their numbers in both files", () => {
  const diff = "--- a/app.conf\n+++ b/app.conf\n@@ -3,3 +3,4 @@ server\n one\n-two\n+2\n+2.5\n three\n@@ -90 +91 @@\n-x\n+y\n\\ No newline at end of file\n";
  assert.deepEqual(short(rowsOf(diff, "app.conf")), [
    "hunk - - @@ -3,3 +3,4 @@ server", "context 3 3 one", "deleted 4 - two", "added - 4 2", "added - 5 2.5", "context 5 6 three",
    "hunk - - @@ -90 +91 @@", "deleted 90 - x", "added - 91 y", "note - - \\ No newline at end of file",
  ]);
});

test("the two lines with names are shown where they say something else than the path", () => {
  assert.deepEqual(short(rowsOf("--- a/one\n+++ b/two\n@@ -1 +1 @@\n-x\n+y\n", "two")).slice(0, 2), ["note - - --- a/one", "note - - +++ b/two"]);
});

test("what looks like a name within a change is a change", () => {
  assert.deepEqual(short(rowsOf("--- x\n+++ x\n@@ -1 +1 @@\n--- old\n+++ new\n", "x")), ["hunk - - @@ -1 +1 @@", "deleted 1 - -- old", "added - 1 ++ new"]);
});

test("what is no diff comes as it is, and nothing as nothing", () => {
  assert.deepEqual(short(rowsOf("hello\n+ there", "x")), ["note - - hello", "note - - + there"]);
  assert.deepEqual(rowsOf("", "x"), []);
});

test("our own tools say what they change", () => {
  const [written] = diffsOf({ kind: "toolCall", tool: "write", arguments: { path: "a.txt", content: "x\ny\n" } });
  assert.deepEqual([written.path, written.additions, written.deletions], ["a.txt", 2, 0]);
  assert.match(written.note, /whole file/);
  const [edited] = diffsOf({ kind: "toolCall", tool: "edit", arguments: { path: "a.txt", oldText: "x", newText: "y", replaceAll: true } });
  assert.deepEqual([edited.additions, edited.deletions], [1, 1]);
  assert.match(edited.note, /Every place/);
});

test("what an agent reports is shown, and else what its arguments are commonly called", () => {
  const content = [{ type: "diff", path: "a", oldText: "x\n", newText: "y\n" }];
  const [reported] = diffsOf({ kind: "agentPermission", tool: "edit", arguments: { title: "Edit", content } });
  assert.deepEqual([reported.path, reported.additions, reported.deletions], ["a", 1, 1]);
  for (const args of [
    { file_path: "a", old_string: "x", new_string: "y" }, { filePath: "a", oldString: "x", newString: "y" },
    { path: "a", edits: [{ old_string: "x", new_string: "y" }] }, { rawInput: { file_path: "a", old_string: "x", new_string: "y" } },
  ]) {
    const all = diffsOf({ kind: "agentPermission", tool: "Edit", arguments: args });
    assert.deepEqual(all.map(({ path, additions, deletions }) => [path, additions, deletions]), [["a", 1, 1]], JSON.stringify(args));
  }
});

test("other arguments make no change, and odd ones no error", () => {
  const odd = [
    null, undefined, "text", 7, [], {}, { path: 5, content: {} }, { path: "a", edits: [null, 3, { old_string: 1 }] }, { rawInput: null, content: "x" },
    { content: [null, { type: "diff" }] },
  ];
  const kinds = ["toolCall", "agentPermission", "question", "somethingNew"];
  const tools = ["edit", "write", "patch", "bash", "writeTextFile", "__proto__"];
  const all = odd.flatMap((args) => kinds.flatMap((kind) => tools.map((tool) => ({ kind, tool, arguments: args }))));
  assert.deepEqual(all.flatMap(diffsOf).filter(({ diff }) => diff !== ""), []);
});
