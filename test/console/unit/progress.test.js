// The line that says how far a call is. A server may send any numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Calls } from "../../../internal/console/web/calls.js";
import { progressLine } from "../../../internal/console/web/progress.js";

test("how far a call is", () => {
  for (const [progress, line] of [
    [undefined, ""],
    [{ done: 1, total: 3, message: "reading" }, "33 % · reading"],
    [{ done: 3, total: 3 }, "100 %"],
    [{ done: 2.5, total: 2.51 }, "99 %"],
    [{ done: 0, total: 10, message: "" }, "0 %"],
    [{ done: 7, message: "files" }, "7 so far · files"],
    [{ done: 7, total: 0 }, "7 so far"],
    [{ done: 11, total: 10 }, "11 of 10"],
    [{ done: -1, total: 10 }, "-1 of 10"],
  ]) {
    assert.equal(progressLine(progress), line);
  }
});

test("the line is that of the newest progress, and goes with the outcome", () => {
  const items = [];
  const calls = new Calls({ event: { time: "2026-01-01T00:00:00Z" }, add: (item) => (items.push(item), item), touch() {} });
  calls.requested({ toolCallId: "c", turn: 1, tool: "mcp__s__t", arguments: {}, summary: "t" }, 1);
  const line = () => progressLine(items[0].tool.progress);
  calls.printed({ toolCallId: "c", offset: 0, output: "", progress: { done: 1, total: 4 } }, 1);
  calls.printed({ toolCallId: "c", offset: 0, output: "x" }, 1);
  assert.equal(line(), "25 %");
  calls.printed({ toolCallId: "c", offset: 1, output: "", progress: { done: 2, total: 4, message: "half" } }, 1);
  assert.equal(line(), "50 % · half");
  calls.completed({ toolCallId: "c", outcome: "succeeded", output: "done" }, 1);
  assert.equal(line(), "");
});
