// What an agent lets its user choose: lines, lists, and what the log tells of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { choicesOf, ofCategory, offerLine } from "../../../internal/console/web/offers.js";
import { Standing } from "../../../internal/console/web/standing.js";
import { valuesOf } from "../../../internal/console/web/body.js";

const effort = { id: "effort", name: "Effort", category: "thought_level", current: "low", choices: [{ value: "low", name: "Low" }, { value: "high" }] };
const mode = { id: "mode", category: "mode", current: "plan", choices: [{ value: "plan" }, { value: "co\u202ede" }] };

test("an option is one line, and hides nothing", () => {
  assert.deepEqual(offerLine(effort), { label: "Effort (effort, thought_level)", text: "low (now), high" });
  assert.deepEqual(offerLine({ id: "x", category: "x", current: "", choices: [] }), { label: "x", text: "nothing to choose" });
  assert.doesNotMatch(offerLine(mode).text, /\u202e/);
});

test("what is chosen stays, where nothing else is", () => {
  assert.deepEqual(choicesOf(effort), [{ value: "", text: "stays Low" }, { value: "high", text: "high" }]);
  assert.equal(ofCategory([effort, mode], "mode"), mode);
});

test("the log tells what can be chosen, and what is", () => {
  const standing = new Standing();
  standing.take({ type: "agent.started", data: { name: "a", mode: "ask", model: "m" } });
  standing.take({ type: "agent.optionsUpdated", data: { options: [effort, mode, { id: 7 }, null] } });
  assert.deepEqual(standing.options, [effort, mode]);
  assert.deepEqual(standing.agent, { name: "a", mode: "plan", model: "m" });
  standing.take({ type: "agent.optionsUpdated", data: {} });
  assert.deepEqual(standing.options, []);
});

test("an execution that is started again has the same options", () => {
  const execution = { kind: "agent", source: { type: "acp", command: "c", options: { effort: "high" } }, policy: {}, secrets: [], contextFrom: [], metadata: {} };
  assert.equal(valuesOf(execution).options, "effort=high");
});
