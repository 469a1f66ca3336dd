// How an interrupted execution can go on.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Standing } from "../../../internal/console/web/standing.js";
import { waysOn } from "../../../internal/console/web/stop.js";

/** How an execution of that source stands after it was interrupted with a cause. */
function interrupted(cause, type) {
  const standing = new Standing();
  if (type) standing.take({ type: "agent.started", data: { source: { type } } });
  standing.take({ type: "execution.stateChanged", data: { to: "interrupted", cause } });
  return standing;
}

for (const [cause, type, modes] of [
  ["provider", "internal", ["retry", "fail"]],
  ["recovery", "internal", ["retry", "fail"]],
  ["processGone", "acp", ["load", "fresh", "fail"]],
  ["dailyBudget", "internal", ["retry", "fail"]],
  ["dailyBudget", "acp", ["load", "fresh", "fail"]],
  ["dailyBudget", undefined, ["retry", "fail"]],
  [undefined, "acp", ["load", "fresh", "fail"]],
  ["toString", "acp", ["load", "fresh", "fail"]],
]) {
  test(`${cause} of ${type} leaves ${modes}`, () => {
    const ways = waysOn(interrupted(cause, type));
    assert.deepEqual(ways.modes, modes);
    assert.match(ways.why, /\.$/);
  });
}
