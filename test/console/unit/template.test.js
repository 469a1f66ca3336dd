// A prompt of an MCP server fills the form of a new execution once, and as what the server sent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bodyOf } from "../../../internal/console/web/body.js";
import { formOf, hand, taken } from "../../../internal/console/web/template.js";

test("one text of the user is the prompt, and a conversation the messages", () => {
  const sent = (messages) => bodyOf(formOf({ description: "", messages }, "runbooks"));
  const one = [{ role: "user", content: "Review it." }];
  const several = [...one, { role: "assistant", content: "Which?" }, { role: "user", content: "disk.md" }];
  assert.deepEqual(sent(one), { body: { source: { type: "internal" }, prompt: "Review it.", mcpServers: ["runbooks"] }, errors: [] });
  assert.deepEqual(sent(several), { body: { source: { type: "internal" }, messages: several, mcpServers: ["runbooks"] }, errors: [] });
  assert.deepEqual(sent([{ role: "assistant", content: "Ask me." }]).body.messages, [{ role: "assistant", content: "Ask me." }]);
});

test("what is handed over is taken once", () => {
  hand({ messages: [{ role: "user", content: "x" }] }, "runbooks", "review");
  assert.equal(taken().values.prompt, "x");
  assert.equal(taken(), undefined);
});
