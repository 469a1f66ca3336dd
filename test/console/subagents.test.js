// What a subagent of an external agent does stands below the call that stands for the subagent, and what nobody could be asked about is a notice.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { reads, visit } from "./harness/browser.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;

before(async () => {
  ({ server, browser } = await raise({ agents: { scripted } }));
});
after(lower);

const child = (state) => `raw ${JSON.stringify({ sessionUpdate: "subagent_update", sessionId: "child", title: "Look around", state })}`;

const steps = [
  child({ state: "running" }),
  "call mine title=mine status=completed",
  "as child",
  'call theirs kind=execute title="List the files"',
  "diff theirs a.txt old new",
  "update theirs completed one.txt",
  "say There is one file.",
  "as",
  child({ state: "idle", stopReason: "end_turn" }),
  'request session/request_permission {"sessionId":"stranger","toolCall":{"toolCallId":"x"},"options":[]}',
  "say That was it.",
];

test("what a subagent does stands below it", () =>
  visit(browser, server, async (v) => {
    const prompt = steps.map((step) => `#! ${step}`).join("\n");
    const { id } = await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt });
    const page = await v.open(`/executions/${id}`);
    const item = (name) => page.locator(`article[data-id="${name}"]`);
    await reads(item("tool:subagent"), /succeeded[^]*Look around[^]*There is one file\./);
    await reads(item("tool:theirs"), /Part of Look around[^]*List the files/);
    const margin = (name) => item(name).evaluate((element) => parseFloat(getComputedStyle(element).marginInlineStart));
    assert.equal(await margin("tool:subagent"), await margin("tool:mine"));
    assert.ok(await margin("tool:theirs") > await margin("tool:mine"));
    await reads(page.locator('article[data-kind="diff"][data-depth="1"]'), "a.txt");
    await reads(page.locator('article[data-kind="notice"]').filter({ hasText: "session/request_permission" }), /Nobody was asked/);
  }));
