// Several people, one question. The first decision wins, and everybody sees whose it was.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, connection, reads, visit } from "./harness/browser.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;
let scene;

before(async () => {
  ({ model, server, browser } = await raise());
  scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
});
after(lower);

/** Asks something new; nobody has answered it. */
const ask = () => server.question({ prompt: `Go ${scene}` });

const decided = (page, approval, status) => page.locator(`article.approval[data-id="${approval.id}"][data-status="${status}"]`);

/** The cards of a page from top to bottom. */
const order = (page) => page.locator("article.approval").evaluateAll((all) => all.map((one) => one.dataset.id));

/** Holds the decisions of both pages back until both are on their way, so that neither can see the other's. */
async function together(pages, approval) {
  const held = [];
  let both;
  const arrived = new Promise((resolve) => (both = resolve));
  for (const page of pages) {
    await page.route(`**/approvals/${approval.id}`, async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      if (held.push(route) === pages.length) both();
      await arrived;
      await route.continue();
    });
  }
}

for (const where of ["inbox", "execution"]) {
  test(`two tabs decide at once: one wins, both show who (${where})`, () =>
    visit(browser, server, async (v) => {
      v.expect(/status of 409/);
      const approval = await ask();
      const place = where === "inbox" ? "/inbox" : `/executions/${approval.executionId}`;
      const [anna, ben] = await Promise.all(["Anna", "Ben"].map(async (name) => v.open(place, { token: await server.key(name) })));
      await together([anna, ben], approval);
      const approve = card(anna, approval).getByRole("button", { name: "Approve", exact: true });
      const deny = card(ben, approval).getByRole("button", { name: "Deny", exact: true });
      await Promise.all([approve.waitFor(), deny.click()]);
      await card(ben, approval).getByLabel("Reason").fill("No.");
      await Promise.all([approve.click(), card(ben, approval).getByRole("button", { name: "Send denial" }).click()]);
      for (const page of [anna, ben]) await page.locator(`article.approval[data-id="${approval.id}"]:not([data-status="pending"])`).waitFor();
      const { status, decision } = await server.get(`/approvals/${approval.id}`);
      for (const page of [anna, ben]) {
        await decided(page, approval, status).waitFor();
        await reads(card(page, approval), decision.decidedBy.name);
        assert.equal(
          await card(page, approval)
            .getByRole("button", { name: /^(Approve|Deny|Send denial)$/ })
            .count(),
          0,
          "there is nothing to decide any more",
        );
      }
      await server.ends(approval.executionId);
    }));
}

test("somebody else's decision appears at once, with the name, where the card was", () =>
  visit(browser, server, async (v) => {
    const approvals = [await ask(), await ask(), await ask()];
    const pages = [await v.open("/inbox"), await v.open(`/executions/${approvals[1].executionId}`)];
    await Promise.all(pages.map((page) => card(page, approvals[1]).getByRole("button", { name: "Approve", exact: true }).waitFor()));
    await Promise.all(pages.map((page) => connection(page, "live")));
    await card(pages[0], approvals[2]).waitFor();
    const before = await order(pages[0]);
    await server.decide(approvals[1], { decision: "deny", reason: "I looked at it." }, await server.key("Clara"));
    for (const page of pages) {
      await decided(page, approvals[1], "denied").waitFor();
      await reads(card(page, approvals[1]), "Clara");
      await reads(card(page, approvals[1]), "I looked at it.");
    }
    assert.deepEqual(await order(pages[0]), before);
    for (const approval of [approvals[0], approvals[2]]) await server.post(`/executions/${approval.executionId}/cancel`, {});
    for (const approval of [approvals[0], approvals[2]]) await decided(pages[0], approval, "cancelled").waitFor();
  }));

test("nothing moves under a finger: what is new goes to the end, what is decided stays", () =>
  visit(browser, server, async (v) => {
    const first = [await ask(), await ask()];
    const page = await v.open("/inbox");
    await card(page, first[1]).waitFor();
    await connection(page, "live");
    const button = card(page, first[0]).getByRole("button", { name: "Approve", exact: true });
    await button.scrollIntoViewIfNeeded();
    const place = await button.boundingBox();
    const later = [await ask(), await ask()];
    await card(page, later[1]).waitFor();
    assert.deepEqual(await button.boundingBox(), place, "the button did not move");
    const shown = await order(page);
    assert.deepEqual(
      shown.slice(-4),
      [...first, ...later].map(({ id }) => id),
    );
    const below = (await card(page, first[1]).boundingBox()).y;
    await button.click();
    await decided(page, first[0], "approved").waitFor();
    assert.equal((await card(page, first[1]).boundingBox()).y, below, "the card below did not move");
    assert.deepEqual(await order(page), shown);
    for (const approval of [first[1], ...later]) await server.post(`/executions/${approval.executionId}/cancel`, {});
  }));

test("one tap is one decision: while it is under way nothing else can be pressed, and the card says so", () =>
  visit(browser, server, async (v) => {
    const approval = await ask();
    const page = await v.open("/inbox");
    const approve = card(page, approval).getByRole("button", { name: "Approve", exact: true });
    await approve.waitFor();
    let sent = 0;
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(`**/approvals/${approval.id}`, async (route) => {
      if (route.request().method() === "POST" && ++sent === 1) await held;
      await route.continue();
    });
    await approve.dblclick({ noWaitAfter: true });
    await reads(card(page, approval), "Sending");
    await card(page, approval).getByRole("button", { name: "Deny", exact: true }).click();
    await card(page, approval).press("a");
    assert.equal(await card(page, approval).getByLabel("Reason").count(), 0, "no button can be pressed meanwhile");
    release();
    await decided(page, approval, "approved").waitFor();
    assert.equal(sent, 1);
    await server.ends(approval.executionId);
  }));

test("an approval that expired says so, and an answer that comes too late does, too", () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/inbox");
    await connection(page, "live"); // what waits for seconds only is not over before the page can show it
    const { id } = await server.create({ prompt: `Go ${scene}`, approvalTimeoutSeconds: 10 });
    const approval = await server.asks(id);
    await card(page, approval).waitFor();
    await decided(page, approval, "expired").waitFor();
    await reads(card(page, approval), /expired/i);
    assert.equal(await card(page, approval).getByRole("button", { name: "Approve", exact: true }).count(), 0);
    await server.ends(id);
  }));
