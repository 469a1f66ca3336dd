// On a phone a thumb is on its way while the page changes. Whatever comes, goes or grows, no card moves; no word is too long for the screen; and
// no is not beside yes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, connection, reads, visit } from "./harness/browser.js";
import { longForm } from "./harness/looks.js";
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

const ask = (more) => server.question({ prompt: `Go ${scene}`, ...more });

const ended = (page, approval, status) => page.locator(`article.approval[data-id="${approval.id}"][data-status="${status}"]`).waitFor();

/** Where each of some cards begins on the page. */
const tops = (page, approvals) =>
  page.evaluate(
    (ids) => ids.map((id) => document.querySelector(`[data-id="${id}"]`).getBoundingClientRect().top + scrollY),
    approvals.map(({ id }) => id),
  );

for (const width of longForm ? [320, 360, 390, 412, 768] : [320, 768]) {
  test(`no card moves at ${width} px: one is new, one decided, one expires, time goes by, a request fails`, () =>
    visit(browser, server, async (v) => {
      v.expect(/ERR_FAILED|request failed/);
      const page = await v.tab({ viewport: { width, height: 800 } });
      await page.clock.install();
      await page.goto(server.link("/inbox"));
      await connection(page, "live"); // what waits for seconds only is not over before the page can show it
      const cards = [await ask(), await ask({ approvalTimeoutSeconds: 8 }), await ask(), await ask()];
      await card(page, cards[3]).getByRole("button", { name: "Approve", exact: true }).waitFor();
      const before = await tops(page, cards);
      await server.decide(cards[0], { decision: "deny", reason: "No." });
      await ended(page, cards[0], "denied");
      assert.deepEqual(await tops(page, cards), before, "one was decided");
      await ended(page, cards[1], "expired");
      assert.deepEqual(await tops(page, cards), before, "one has expired");
      // Until the end nothing answers: an answer has the server's time, and would set the clock of the page back.
      await page.route(/\/(approvals|events|executions)/, (route) => route.abort());
      const late = await ask();
      await reads(page.locator(".trouble .notice"), "cannot be reached");
      assert.deepEqual(await tops(page, cards), before, "a request failed");
      await page.clock.fastForward("23:59:00");
      await reads(card(page, cards[2]), /23 h/);
      assert.deepEqual(await tops(page, cards), before, "time went by");
      for (const { executionId } of [...cards, late]) await server.post(`/executions/${executionId}/cancel`, {}).catch(() => undefined);
    }));
}

const long = "l".repeat(300);

for (const [what, properties] of Object.entries({
  title: { a: { type: "string", title: long } },
  name: { [long.slice(0, 200)]: { type: "string" } },
  description: { a: { type: "boolean", description: long } },
  choice: { a: { enum: [long] } },
  box: { a: { type: "array", items: { enum: [long] } } },
  legend: { a: { type: "array", title: long, items: { enum: ["a"] } } },
})) {
  test(`a long word in a question's ${what} does not widen the page`, () =>
    visit(browser, server, async (v) => {
      const step = `elicit Hello ${JSON.stringify({ type: "object", properties })}`;
      const { id } = await server.create({ source: { type: "acp", command: "scripted" }, prompt: `#! ${step}` });
      const approval = await server.asks(id);
      const page = await v.open("/inbox", { device: "phone", viewport: { width: 320, height: 700 } });
      await card(page, approval).getByRole("button", { name: "Send answer" }).waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
      const hidden = await card(page, approval).evaluate((one) =>
        [...one.querySelectorAll("label, legend, .hint, select, input")].filter((part) => part.getBoundingClientRect().right > innerWidth).length,
      );
      assert.equal(hidden, 0, "all of it is within the screen");
      await server.post(`/executions/${id}/cancel`, {});
    }));
}

test("on a phone there is room between yes and no", () =>
  visit(browser, server, async (v) => {
    const approval = await ask();
    const page = await v.open("/inbox", { device: "phone" });
    const box = (name) => card(page, approval).getByRole("button", { name, exact: true }).boundingBox();
    const [yes, no] = [await box("Approve"), await box("Deny")];
    assert.ok(Math.max(no.x - (yes.x + yes.width), no.y - (yes.y + yes.height)) >= 16, JSON.stringify([yes, no]));
    await server.post(`/executions/${approval.executionId}/cancel`, {});
  }));
