// The console makes items of the log by itself. They must be those of the server: the files beside this test are logs with what the server's
// reducer makes of them, and a test in Go (internal/events/items/console_test.go) keeps them up to date.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { textBytes } from "../../../internal/console/web/bytes.js";
import { Conversation } from "../../../internal/console/web/conversation.js";

const folder = new URL("items/", import.meta.url);

for (const file of readdirSync(folder)) {
  const { request, log, items } = JSON.parse(readFileSync(new URL(file, folder), "utf8"));

  test(`${file}: the same items as the server's`, () => {
    const conversation = new Conversation(request);
    for (const event of log) conversation.add(event);
    assert.deepEqual(sent(conversation.items()), items);
  });

  test(`${file}: what add names is what has changed`, () => {
    const conversation = new Conversation(request);
    const shown = new Map();
    for (const event of log) {
      const changed = conversation.add(event);
      assert.deepEqual(conversation.add(event), new Set(), "it came before");
      for (const row of conversation.rows()) if (changed.has(row.id)) shown.set(row.id, sent(row));
    }
    assert.deepEqual([...shown.values()], sent(conversation.rows()));
  });
}

/** As it would come in JSON. */
function sent(value) {
  return JSON.parse(JSON.stringify(value));
}

/** A conversation that has heard these events, each [type, data]. */
function heard(...events) {
  const conversation = new Conversation({ prompt: "Go.", messages: null });
  tell(conversation, ["execution.created", { status: "queued", source: { type: "internal" } }], ...events);
  return conversation;
}

function tell(conversation, ...events) {
  for (const [type, data] of events) conversation.add({ seq: conversation.lastSeq + 1, type, time: "2026-03-02T09:00:00Z", data });
}

const delta = (offset, text) => ["message.delta", { messageId: "m", turn: 1, offset, text }];

for (const [name, event, wanted] of [
  ["a piece that comes again", delta(0, "é"), /at 0, where 2 bytes are/],
  ["a piece of what is not there", ["thought.delta", { messageId: "m", turn: 1, offset: 2, text: "x" }], /at 2, where 0 bytes are/],
  ["the middle of what is not there", ["thought.delta", { messageId: "m", text: "x" }], /at undefined, where 0 bytes are/],
  ["output of no call", ["toolCall.updated", { toolCallId: "c", offset: 1, output: "x" }], /output of c at 1, where 0 bytes are/],
]) {
  test(`what does not fit changes nothing: ${name}`, () => {
    const conversation = heard(delta(0, "é"));
    const before = sent(conversation.rows());
    assert.throws(() => tell(conversation, event), wanted);
    assert.deepEqual(sent(conversation.rows()), before);
    tell(conversation, delta(2, "!"), ["message.delta", { messageId: "m", text: "?" }], delta(4, "."));
    assert.equal(conversation.items().at(-1).message.text, "é!?.");
  });
}

test("a hole in the log is told", () => {
  assert.throws(() => heard().add({ seq: 3, type: "turn.started", data: {} }), /event 3 follows event 1/);
});

test("unknown types are passed over, and so are those that objects have by birth", () => {
  const conversation = heard(["weather.changed", null], ["constructor", null], ["toString", {}], ["__proto__", {}]);
  assert.equal(conversation.lastSeq, 5);
  assert.equal(conversation.items().length, 1);
});

test("texts are cut where the server cuts them, between two characters", () => {
  const almost = "x".repeat(textBytes - 1);
  const conversation = heard(delta(0, almost), delta(textBytes - 1, "é"), delta(textBytes + 1, "y"));
  const { message } = conversation.items().at(-1);
  assert.deepEqual([message.text === almost, message.truncated], [true, true]);
});

test("how it stands", () => {
  const usage = { inputTokens: 3, cost: null };
  const { standing } = heard(
    ["execution.stateChanged", { from: "queued", to: "initializing" }],
    ["turn.started", { turn: 1 }],
    ["toolCall.requested", { toolCallId: "a", messageId: "m1", turn: 1 }],
    ["toolCall.requested", { toolCallId: "b", messageId: "m1", turn: 1 }],
    ["toolCall.requested", { toolCallId: "c", messageId: "m2", turn: 1 }],
    ["approval.requested", { approvalId: "p", toolCallId: "c" }],
    ["prompt.queued", { promptId: "q1", text: "One" }],
    ["prompt.queued", { promptId: "q2", text: "Two" }],
    ["usage.updated", { usage, model: "demo" }],
    ["plan.updated", { entries: [{ content: "Look", status: "pending" }] }],
    ["execution.stateChanged", { from: "initializing", to: "interrupted", reason: "It was lost." }],
  );
  assert.deepEqual([standing.status, standing.statusReason, standing.turn, standing.rounds], ["interrupted", "It was lost.", 1, 2]);
  assert.deepEqual([standing.usage, standing.model, standing.plan.length, standing.asked.size], [usage, "demo", 1, 1]);
  assert.deepEqual(standing.prompts.map((prompt) => prompt.text), ["One", "Two"]);
});

test("a further turn counts its rounds anew and takes its prompt from those that wait", () => {
  const { standing } = heard(
    ["toolCall.requested", { toolCallId: "a", messageId: "m1", turn: 1 }],
    ["prompt.queued", { promptId: "q1", text: "One" }],
    ["turn.started", { turn: 2, promptId: "q1", text: "One" }],
  );
  assert.deepEqual([standing.turn, standing.rounds, standing.prompts], [2, 0, []]);
});

test("the end", () => {
  const conversation = heard(
    ["prompt.queued", { promptId: "q1", text: "One" }],
    ["execution.cancelled", { status: "cancelled", usage: { totalTokens: 7 }, cancelledBy: { keyId: "k", name: "Ann" }, reason: "Wrong ticket." }],
  );
  const { standing } = conversation;
  assert.deepEqual([standing.status, standing.prompts, standing.usage.totalTokens, standing.ended.reason], ["cancelled", [], 7, "Wrong ticket."]);
  assert.deepEqual(conversation.rows().at(-1).notice, { level: "warn", text: "Cancelled by Ann.", detail: "Wrong ticket." });
});

test("notices stand in their place, and the newest of those that repeat says it all", () => {
  const retry = (attempt) => ["model.retrying", { attempt, delayMs: 2000, code: "modelFailed", message: "busy" }];
  const rows = heard(delta(0, "a"), retry(1), retry(2), ["agent.silent", { turn: 1, seconds: 60 }], delta(1, "b"), retry(3)).rows();
  assert.deepEqual(rows.map((row) => row.notice?.text ?? row.id), [
    "prompt:1", "message:m",
    "The model failed, attempt 2; asked again after 2 s.",
    "Nothing has come from the agent for 1 min, although it is its turn.",
    "The model failed, attempt 3; asked again after 2 s.",
  ]);
});

test("what a subagent does is part of its call, and so are the changes that it makes", () => {
  const asks = (toolCallId, parentToolCallId) => ["toolCall.requested", { toolCallId, parentToolCallId, messageId: "m", turn: 1, tool: "write", class: "write",
    arguments: { path: "a", content: "b" }, summary: toolCallId }];
  const conversation = heard(asks("child"), asks("grandchild", "child"), asks("write", "grandchild"), asks("other"), asks("lost", "unknown"));
  const above = (row) => {
    const parent = row && conversation.parentOf(row);
    return parent === undefined ? [] : [parent.tool.toolCallId, ...above(parent)];
  };
  assert.deepEqual(conversation.rows().filter(({ kind }) => kind === "tool").map((row) => above(row).join(" ")), ["", "child", "grandchild child", "", ""]);
  const change = conversation.rows().find(({ diff }) => diff?.toolCallId === "write");
  assert.deepEqual(above(change), ["grandchild", "child"]);
});

test("a request that nobody was asked about is a notice, and other words of the agent are none", () => {
  const rows = heard(["agent.updated", { turn: 1, kind: "foreignSession", update: { method: "session/request_permission", params: {} } }],
    ["agent.updated", { turn: 1, kind: "foreignSession", update: { sessionId: "x", update: {} } }], ["agent.updated", { turn: 1, kind: "x", update: null }]).rows();
  assert.deepEqual(rows.filter(({ kind }) => kind === "notice").map(({ notice }) => [notice.level, notice.detail]), [["warn", "session/request_permission"]]);
});

test("what allowed a call is known from its start", () => {
  const conversation = heard(["toolCall.requested", { toolCallId: "a", messageId: "m1", turn: 1 }]);
  assert.equal(conversation.originOf("a"), undefined);
  tell(conversation, ["toolCall.started", { toolCallId: "a", arguments: {}, allowedBy: "rule", ruleId: "r" }]);
  assert.equal(conversation.originOf("a").allowedBy, "rule");
});
