// What checkpoints have found on disk: where a diff and a rollback begin, and the words for what has become of a file.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Points, factsOf, kindOf, sumOf } from "../../../internal/console/web/disk.js";
import { noticeOf } from "../../../internal/console/web/notices.js";

/** Points of a log: [moment, turn, toolCallId]. */
function points(...all) {
  const found = new Points();
  all.forEach(([moment, turn, toolCallId], at) => found.take({ status: "taken", checkpoint: at + 1, moment, turn, toolCallId }, "2026-03-02T09:00:00Z"));
  return found;
}

test("a call and a turn begin at the checkpoint before them", () => {
  const found = points(["turnBegins", 1], ["beforeToolCall", 1, "a"], ["afterToolCall", 1, "a"], ["afterToolCall", 1, "b"], ["afterToolCall", 1, "b"],
    ["turnBegins", 2], ["turnEnds", 2], ["afterToolCall", 3, "c"], ["beforeRollback", 0]);
  assert.equal(found.beforeCall("a").number, 2);
  assert.equal(found.beforeCall("b").number, 3, "the first checkpoint of a call counts, however many it has");
  assert.equal(found.beforeCall("nothing was recorded"), undefined);
  assert.equal(found.beforeTurn(1).number, 1);
  assert.equal(found.beforeTurn(2).number, 6, "a checkpoint at the beginning of a turn is the one before it");
  assert.equal(found.beforeTurn(3).number, 7);
  assert.equal(found.before(7).number, 6);
  assert.equal(found.before(1), undefined);
  assert.deepEqual(found.turns(), [1, 2, 3]);
});

test("a checkpoint that was not taken is none", () => {
  const found = points(["turnBegins", 1]);
  found.take({ status: "failed", checkpoint: 0, moment: "afterToolCall", turn: 1, toolCallId: "a" });
  found.take({ status: "unavailable", checkpoint: 0, moment: "turnBegins", turn: 1 });
  assert.equal(found.all.length, 1);
});

test("a rollback of an ended execution has checkpoints of its own, each counted once", () => {
  const found = points(["turnBegins", 1], ["afterToolCall", 1, "a"]);
  const rollback = { endedAt: "2026-03-02T10:00:00Z", result: { checkpoints: [{ status: "taken", checkpoint: 3, moment: "beforeRollback", turn: 0 }] } };
  found.takeRollback(rollback);
  found.takeRollback(rollback);
  found.takeRollback({ result: null, endedAt: null });
  assert.deepEqual(found.all.map(({ number, moment, time }) => [number, moment, time]).at(-1), [3, "beforeRollback", "2026-03-02T10:00:00Z"]);
  assert.equal(found.all.length, 3);
});

test("why there is no checkpoint is a notice, and one that was taken is none", () => {
  const notice = (data) => noticeOf({ type: "checkpoint.created", data });
  const error = { code: "checkpointFailed", message: "The disk is full." };
  assert.equal(notice({ status: "taken", moment: "afterToolCall" }), undefined);
  assert.deepEqual(notice({ status: "failed", moment: "afterToolCall", error }), { level: "warn",
    text: "What a call has changed on disk is not known: no checkpoint could be taken after it.", detail: "The disk is full." });
  assert.match(notice({ status: "unavailable", moment: "turnBegins", error }).text, /has no checkpoints/);
  assert.equal(notice({ status: "failed", moment: "constructor", error }).text, "No checkpoint could be taken.");
});

test("the sum counts all paths, and marks what the execution has not changed, or perhaps not", () => {
  const files = [{ by: "execution" }, { by: "uncertain" }, { by: "others" }, { by: undefined }, { by: "uncertain" }];
  assert.deepEqual(sumOf([{ files, changedPaths: 700, additions: 3, deletions: 1 }, { files: [], changedPaths: 1, additions: 1, deletions: 0 }]),
    { files: 701, additions: 4, deletions: 1, uncertain: 2, others: 1 });
});

const file = { path: "p", from: null, kind: "modified", by: "execution", modeBefore: "-rw-r--r--", modeAfter: "-rw-r--r--", diff: "", omitted: null };

for (const [name, change, kind, facts] of [
  ["a changed file", { diff: "--- p" }, "changed", []],
  ["a new file", { kind: "added", modeBefore: null }, "added", []],
  ["a new program", { kind: "added", modeBefore: null, modeAfter: "-rwxr-xr-x" }, "added", [/can be run.*-rwxr-xr-x/]],
  ["a new folder", { kind: "added", modeBefore: null, modeAfter: "drwxr-xr-x" }, "folder added", []],
  ["a deleted link", { kind: "deleted", modeBefore: "Lrwxrwxrwx", modeAfter: null }, "link deleted", []],
  ["a renamed file", { kind: "renamed", from: "old" }, "renamed", [/renamed from old/]],
  ["another mode", { kind: "modeChanged", modeAfter: "-rwxr-xr-x" }, "mode or owner changed", [/was -rw-r--r-- and is -rwxr-xr-x/]],
  ["another owner", { kind: "modeChanged" }, "mode or owner changed", [/owner is another/]],
  ["a file that is a link", { kind: "typeChanged", modeAfter: "Lrwxrwxrwx" }, "another type", [/was a file and is a link/, /mode/]],
  ["no text", { omitted: "binary" }, "changed", [/no text/]],
  ["a secret", { omitted: "secret" }, "changed", [/hold secrets/]],
  ["too much", { omitted: "tooLarge" }, "changed", [/too large to be shown/]],
  ["much", { omitted: "tooLarge", diff: "--- p" }, "changed", [/Only the beginning/]],
  ["a reason of a newer server", { omitted: "constructor" }, "changed", [/not shown: constructor/]],
  ["a kind of a newer server", { kind: "toString" }, "toString", []],
  ["others", { by: "others" }, "changed", [/^Somebody else/]],
  ["perhaps others", { by: "uncertain" }, "changed", [/^Perhaps somebody else/]],
]) {
  test(`what has become of a file, in words: ${name}`, () => {
    const all = factsOf({ ...file, ...change });
    assert.equal(kindOf({ ...file, ...change }), kind);
    assert.equal(all.length, facts.length, all.join(" "));
    facts.forEach((fact, at) => assert.match(all[at], fact));
  });
}
