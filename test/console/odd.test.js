// What models and agents ask may be odd. It is shown plainly, and never takes along what others ask.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, reads, visit } from "./harness/browser.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;
let scene;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted } }));
  scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
});
after(lower);

const ask = () => server.question({ prompt: `Go ${scene}` });

const asksAgent = (step) => server.question({ source: { type: "acp", command: "scripted" }, prompt: `#! ${step}` });

test("a field of the type constructor is a field, and the other cards are there", () =>
  visit(browser, server, async (v) => {
    const odd = await asksAgent('elicit "Hello" {"type":"object","properties":{"a":{"type":"constructor"},"b":{"type":"__proto__"}}}');
    const plain = await ask();
    const page = await v.open("/inbox");
    await card(page, plain).getByRole("button", { name: "Approve", exact: true }).waitFor();
    await reads(card(page, odd), "As JSON");
    for (const { executionId } of [odd, plain]) await server.post(`/executions/${executionId}/cancel`, {});
  }));

for (const where of ["inbox", "execution"]) {
  test(`a card that cannot be drawn says so, can be denied, and takes no other along (${where})`, () =>
    visit(browser, server, async (v) => {
      const [broken, whole] = [await ask(), await ask()];
      const page = await v.tab();
      const spoil = (one) => (one.id === broken.id ? { ...one, rememberOptions: [null] } : one);
      await page.route(/\/approvals(\?|\/[0-9a-f-]{20,}$)/, async (route) => {
        if (route.request().method() !== "GET") return route.continue();
        const body = await (await route.fetch()).json();
        await route.fulfill({ json: body.items === undefined ? spoil(body) : { ...body, items: body.items.map(spoil) } });
      });
      await page.goto(server.link(where === "inbox" ? "/inbox" : `/executions/${broken.executionId}`));
      await reads(card(page, broken), /cannot be shown.*It can only be denied here: .*null/);
      if (where === "inbox") await card(page, whole).getByRole("button", { name: "Approve", exact: true }).waitFor();
      assert.equal(await card(page, broken).getByRole("button", { name: "Approve" }).count(), 0);
      await card(page, broken).getByRole("button", { name: "Deny", exact: true }).click();
      await card(page, broken).getByRole("button", { name: "Send denial" }).click();
      await page.locator(`article.approval[data-id="${broken.id}"][data-status="denied"]`).waitFor();
      assert.equal((await server.get(`/approvals/${broken.id}`)).status, "denied");
      await page.unrouteAll({ behavior: "wait" });
      await server.post(`/executions/${whole.executionId}/cancel`, {});
    }));
}
