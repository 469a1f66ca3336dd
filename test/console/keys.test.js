// Keys that may do less than all: the page shows what it may show, and where something is missing it says what.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, reads, visit } from "./harness/browser.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;
let approval;

before(async () => {
  ({ model, server, browser } = await raise());
  const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
  approval = await server.asks((await server.create({ prompt: `Go ${scene}` })).id);
});
after(lower);

test("a key that may only read sees what waits; its buttons say what is missing", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 403/);
    const token = await server.key("reader", "executions:read,events:read,approvals:read");
    const page = await v.open("/inbox", { token });
    const asked = card(page, approval);
    await reads(asked, "echo once");
    const approve = asked.getByRole("button", { name: "Approve", exact: true });
    if (await approve.isEnabled()) await approve.click();
    await reads(asked, "approvals:decide");
    assert.equal((await server.get(`/approvals/${approval.id}`)).status, "pending");
    await page.goto(`${server.url}/#/executions/${approval.executionId}`);
    const cancel = page.getByRole("button", { name: "Cancel execution" });
    await cancel.click();
    const sure = page
      .getByRole("dialog")
      .getByRole("button", { name: /cancel/i })
      .first();
    if (await sure.isVisible()) await sure.click();
    await page.getByText("executions:cancel").first().waitFor();
  }));

for (const [scopes, path, missing] of [
  ["executions:read", "/inbox", "approvals:read"],
  ["executions:read,approvals:read", "/inbox", "events:read"],
  ["approvals:read,events:read", "/executions", "executions:read"],
  ["executions:read,events:read,approvals:read", "/rules", "policies:read"],
  ["executions:read,events:read,approvals:read", "/registry", "agents:read"],
]) {
  test(`${path} without ${missing} says so`, () =>
    visit(browser, server, async (v) => {
      v.expect(/status of 403/);
      const page = await v.open(path, { token: await server.key("less", scopes) });
      await page.locator("main").getByText(missing).first().waitFor();
    }));
}

test("an execution without events:read says so", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 403/);
    const page = await v.open(`/executions/${approval.executionId}`, { token: await server.key("less", "executions:read,approvals:read") });
    await page.locator("main").getByText("events:read").first().waitFor();
  }));

test("a key that may not create executions is told when it tries", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 403/);
    const page = await v.open("/new", { token: await server.key("less", "executions:read,events:read,approvals:read,agents:read") });
    await page.getByLabel("Prompt", { exact: true }).fill("Look.");
    await page.getByRole("button", { name: "Start" }).first().click();
    await page.locator("main").getByText("executions:write").first().waitFor();
  }));

test("a key without approvals:decideUnseen decides what it was shown", () =>
  visit(browser, server, async (v) => {
    const token = await server.key("night shift", "executions:read,events:read,approvals:read,approvals:decide");
    const page = await v.open("/inbox", { token });
    await card(page, approval).getByRole("button", { name: "Approve", exact: true }).click();
    await page.locator(`article.approval[data-id="${approval.id}"][data-status="approved"]`).waitFor();
    await reads(card(page, approval), "night shift");
  }));
