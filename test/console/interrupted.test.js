// An execution that cannot go on by itself: the page says why, offers what there is to choose from, and goes on as a person has chosen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { reads, status, visit } from "./harness/browser.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise());
});
after(lower);

const choice = (page) => page.getByRole("region", { name: "Interrupted" });
const button = (page, name) => choice(page).getByRole("button", { name, exact: true });

/** A scene whose provider refuses so many requests with a status, after the first ones were served. */
function refusing(code, { served = 0, times = Infinity, play = (answer) => answer.say("Here I am again.") } = {}) {
  let asked = 0;
  return model.scene((answer, conversation, step) => {
    const refused = asked++ >= served && asked <= served + times;
    return refused ? answer.refuse(code, "not today") : play(answer, conversation, step);
  });
}

test("a key that is not accepted: the reason, and the request repeated as often as a person wants", () =>
  visit(browser, server, async (v) => {
    const { id } = await server.create({ prompt: `Go ${refusing(401, { times: 2 })}` });
    const page = await v.open(`/executions/${id}`);
    await status(page, "interrupted");
    await reads(choice(page), /does not accept the key \(401\)/);
    const offered = await choice(page).getByRole("button").filter({ visible: true }).allTextContents();
    assert.deepEqual(offered, ["Repeat the request", "End it"]);
    const told = page.locator('article.item[data-kind="notice"]').filter({ hasText: "somebody must choose" });
    assert.equal(await told.count(), 1);
    await button(page, "Repeat the request").click();
    await told.nth(1).waitFor(); // refused again
    await button(page, "Repeat the request").click();
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="message"]').last(), "Here I am again.");
    assert.equal(await choice(page).count(), 0, "there is nothing to choose any more");
  }));

test("a person ends it", () =>
  visit(browser, server, async (v) => {
    const { id } = await server.create({ prompt: `Go ${refusing(402)}` });
    const page = await v.open(`/executions/${id}`);
    await button(page, "End it").click();
    await status(page, "failed");
    const { output } = await server.get(`/executions/${id}`);
    assert.equal(output.error.code, "interrupted");
  }));

test("a person cancels it", () =>
  visit(browser, server, async (v) => {
    const { id } = await server.create({ prompt: `Go ${refusing(403)}` });
    const page = await v.open(`/executions/${id}`);
    await status(page, "interrupted");
    await page.getByRole("button", { name: "Cancel execution" }).click();
    await page.getByRole("button", { name: "Cancel it now" }).click();
    await status(page, "cancelled");
    assert.equal(await choice(page).count(), 0);
  }));

test("an edit of blocks that was refused is ended, and the blocks can still be accepted", () =>
  visit(browser, server, async (v) => {
    const blocks = [{ type: "script", props: { code: "df -h" } }];
    const scene = refusing(401, { served: 1, play: (answer) => answer.call("submit_blocks", { blocks }) });
    const { id } = await server.create({
      kind: "inlineBlockGeneration",
      prompt: `Write blocks ${scene}`,
      document: { revision: "1", blocks: [] },
      blockTypes: [{ type: "script", propsSchema: { type: "object", required: ["code"] } }],
    });
    await server.reaches(id, "idle");
    await server.post(`/executions/${id}/generation/edits`, { text: "Shorter." });
    const page = await v.open(`/executions/${id}`);
    await reads(choice(page), /only this turn has, and they can still be accepted/);
    await button(page, "End it").click();
    await status(page, "idle");
    await choice(page).waitFor({ state: "hidden" });
    await server.post(`/executions/${id}/generation/accept`, { generation: 1, documentRevision: "1" });
    await status(page, "completed");
  }));

test("a provider that is away for a moment: the page says that it is asked again, and nobody has to choose", () =>
  visit(browser, server, async (v) => {
    const { id } = await server.create({ prompt: `Go ${refusing(503, { times: 1 })}` });
    const page = await v.open(`/executions/${id}`);
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="notice"]'), /The model failed, attempt 1; asked again after .*503/);
    assert.equal(await choice(page).count(), 0);
  }));
