// The page of a link, as a person opens it who has no key: with script the card comes by itself, without it the button shows it. Both decide.
// Opening the page alone tells nothing; internal/http has the tests of that.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, reads, visit } from "./harness/browser.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let scene;

before(async () => {
  let model;
  ({ model, server, browser } = await raise());
  const command = "echo \u0441at /etc\u2215passwd \u05d0\u05d1 > made";
  scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command }) : answer.say("Done.")));
});
after(lower);

/** Asks something new, and gives the approval and the address of a link to it. */
async function linked() {
  const approval = await server.question({ prompt: `Go ${scene}` });
  const { url } = await server.post(`/approvals/${approval.id}/links`, { for: "ann" });
  return { approval, address: server.url + url };
}

const marked = /⟨U\+0441⟩at \/etc⟨U\+2215⟩passwd ⟨U\+05D0⟩⟨U\+05D1⟩/;

for (const javaScriptEnabled of [true, false]) {
  test(`a link decides ${javaScriptEnabled ? "with" : "without"} script`, () =>
    visit(browser, server, async (v) => {
      const { approval, address } = await linked();
      const page = await v.tab({ javaScriptEnabled });
      await page.goto(address);
      if (!javaScriptEnabled) {
        assert.doesNotMatch(await page.locator("body").textContent(), /passwd|echo|bash/);
        await page.getByRole("button", { name: "Show" }).click();
      }
      await reads(page.locator("main"), marked);
      assert.equal((await server.get(`/approvals/${approval.id}`)).status, "pending", "looking has decided");
      await page.getByRole("textbox").fill("by the page");
      await page.getByRole("button", { name: "Approve" }).click();
      await reads(page.locator("h1"), /This is approved/);
      const { decision } = await server.get(`/approvals/${approval.id}`);
      assert.equal(decision.decidedBy.name, "link for ann");
      assert.equal(decision.reason, "by the page");
      await server.ends(approval.executionId);
      await page.goto(address);
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Show" }).click();
      await reads(page.locator("main"), /link for ann/);
    }));
}

test("a link that does not hold says so", () =>
  visit(browser, server, async (v) => {
    v.expect(/404/);
    const page = await v.tab();
    await page.goto(`${server.url}/approve/unknown`);
    await reads(page.locator("h1"), /not valid/);
  }));

test("the console's card marks the same look-alikes", () =>
  visit(browser, server, async (v) => {
    const { approval } = await linked();
    const page = await v.open("/inbox");
    await card(page, approval).waitFor();
    await reads(card(page, approval).locator(".arguments"), /U\+0441at \/etcU\+2215passwd U\+05D0U\+05D1/);
    await reads(card(page, approval).locator("h2, h3").first(), marked);
  }));
