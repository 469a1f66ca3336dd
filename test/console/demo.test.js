// The whole demo by clicks, with the scripted model that a fresh server has: what README promises of the first minutes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, launch, reads, status, visit } from "./harness/browser.js";
import { Server } from "./harness/server.js";

let server;
let browser;

before(async () => {
  [server, browser] = await Promise.all([Server.up(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.down();
});

const prompt = "What does this machine look like? Look before you answer.";

/** Starts an execution of the demo's model by the page, and returns its id. */
async function start(page) {
  await page.getByRole("navigation").getByRole("link", { name: "New" }).click();
  await page.getByRole("heading", { level: 1, name: "New execution" }).waitFor();
  await page.getByLabel("Prompt", { exact: true }).fill(prompt);
  await page.getByRole("button", { name: "Start", exact: false }).first().click();
  await page.waitForURL(/#\/executions\/[0-9a-f-]{36}/);
  return /executions\/([0-9a-f-]{36})/.exec(page.url())[1];
}

/** The last thing that the model said. */
const lastMessage = (page) => page.locator('article.item[data-kind="message"]').last();

test("the link brings a tab in, and its token leaves the address and the history", () =>
  visit(browser, server, async (v) => {
    const page = await v.open();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    assert.equal(page.url().includes(server.token), false, page.url());
    await page.getByRole("navigation").getByRole("link", { name: "Executions" }).click();
    await page.getByRole("heading", { level: 1, name: "Executions" }).waitFor();
    const kept = await page.evaluate(() => ({
      history: window.navigation.entries().map((entry) => entry.url),
      session: Object.values(sessionStorage),
      local: Object.values(localStorage),
      cookies: document.cookie,
      title: document.title,
      states: JSON.stringify(history.state),
    }));
    assert.deepEqual(kept.session, [server.token]);
    assert.equal(JSON.stringify({ ...kept, session: [] }).includes(server.token), false, JSON.stringify(kept));
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Executions" }).waitFor();
  }));

test("a second tab has no token: it stands at the door, and a pasted link opens it", () =>
  visit(browser, server, async (v) => {
    const first = await v.open();
    await first.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    const second = await first.context().newPage();
    await second.goto(`${server.url}/#/executions`);
    const field = second.getByLabel("Link or token");
    await field.waitFor();
    assert.equal(await second.getByRole("heading", { level: 1 }).textContent(), "Signoff");
    await field.fill("nothing");
    await second.getByRole("button", { name: "Come in" }).click();
    await second.getByRole("alert").filter({ hasText: "neither" }).waitFor();
    await field.fill(server.link());
    await second.getByRole("button", { name: "Come in" }).click();
    await second.getByRole("heading", { level: 1, name: "Executions" }).waitFor();
  }));

test("a token that the server does not know leads back to the door", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 401/);
    const page = await v.open("", { token: "sgn_0000000000000000000000000000000000000000" });
    await page.getByLabel("Link or token").waitFor();
    assert.deepEqual(await page.evaluate(() => Object.values(sessionStorage)), []);
  }));

test("start, watch it stream, approve, see it complete", () =>
  visit(browser, server, async (v) => {
    const page = await v.open();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    const id = await start(page);
    const approval = await server.asks(id);
    const asked = card(page, approval);
    await reads(asked, approval.arguments.command);
    // Of the scripted model only the server can tell in how many pieces it spoke; that a page draws each as it comes, resume.test.js holds.
    const { items } = await server.get(`/executions/${id}/events?limit=1000`);
    const pieces = items.filter(({ type }) => type.endsWith(".delta")).length;
    assert.ok(pieces > 5, `the model said it in ${pieces} pieces`);
    await status(page, "pendingToolApproval");
    assert.equal(await asked.getAttribute("data-status"), "pending");
    await asked.getByRole("button", { name: "Approve", exact: true }).click();
    await status(page, "completed");
    await reads(lastMessage(page), "was approved and has run");
    await reads(page.locator('article.item[data-kind="tool"]').first(), /Linux|Darwin/);
    assert.equal((await server.get(`/approvals/${approval.id}`)).decision.decision, "approve");
    assert.equal(await card(page, approval).getByRole("button", { name: "Approve", exact: true }).count(), 0);
  }));

test("a denial goes to the model with its reason", () =>
  visit(browser, server, async (v) => {
    const page = await v.open();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    const id = await start(page);
    const approval = await server.asks(id);
    await page.getByRole("navigation").getByRole("link", { name: "Inbox" }).click();
    const asked = card(page, approval);
    await asked.getByRole("button", { name: "Deny", exact: true }).click();
    await asked.getByLabel("Reason").fill("Not on a Friday.");
    await asked.getByRole("button", { name: "Send denial" }).click();
    await page.locator(`article.approval[data-id="${approval.id}"][data-status="denied"]`).waitFor();
    const end = await server.ends(id);
    assert.match(end.output.text, /Not on a Friday\./);
    await page.goto(`${server.url}/#/executions/${id}`);
    await reads(lastMessage(page), "Not on a Friday.");
    await status(page, "completed");
  }));

test("what runs is what a person wrote in its place", () =>
  visit(browser, server, async (v) => {
    const page = await v.open();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    const id = await start(page);
    const approval = await server.asks(id);
    const asked = card(page, approval);
    await asked.getByRole("button", { name: "Edit", exact: true }).click();
    const editor = asked.getByRole("textbox").first();
    assert.match(await editor.inputValue(), /uname -sr/);
    await editor.fill((await editor.inputValue()).replace("date; uname -sr; df -h .; ls -A", "echo written by a person"));
    await asked.getByRole("button", { name: "Approve edited" }).click();
    await status(page, "completed");
    assert.deepEqual((await server.get(`/approvals/${approval.id}`)).decision.arguments, { command: "echo written by a person" });
    const tool = (await server.items(id)).find((item) => item.kind === "tool").tool;
    assert.equal(tool.output, "written by a person\n");
    await reads(page.locator('article.item[data-kind="tool"]').first(), "written by a person");
  }));

test("what was remembered is not asked again, and is asked again when it was revoked", () =>
  visit(browser, server, async (v) => {
    const page = await v.open();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    const first = await start(page);
    const asked = card(page, await server.asks(first));
    await asked.waitFor();
    const remember = asked.getByLabel("Remember");
    const values = await remember
      .locator("option")
      .evaluateAll((options) => options.map((option) => ({ value: option.value, text: option.textContent })));
    const always = values.find((option) => /always|all executions/i.test(option.text));
    assert.ok(always, JSON.stringify(values));
    await remember.selectOption(always.value);
    await asked.getByRole("button", { name: "Approve", exact: true }).click();
    await server.ends(first);
    const second = await start(page);
    await status(page, "completed");
    assert.deepEqual((await server.get(`/executions/${second}/approvals`)).items, []);
    await page.getByRole("navigation").getByRole("link", { name: "Rules" }).click();
    await page.getByRole("heading", { level: 1, name: "Permission rules" }).waitFor();
    const rule = page.locator("article.rule").first();
    await reads(rule, /same arguments|exactly/i);
    await reads(rule, /Hits\s*1|1 time/);
    await rule.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke the rule" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Revoke" }).waitFor({ state: "detached" });
    const third = await start(page);
    assert.ok(await server.asks(third));
    await server.post(`/executions/${third}/cancel`, {});
  }));
