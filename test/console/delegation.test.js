// Agents that hand work to agents: a child is a line below the call of its parent, a page says on whose behalf it works, and the inbox keeps the questions of a
// tree together. The logs of parents are those that the items are tested with (unit/items); the executions behind the links are real.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { card, reads, status, visit } from "./harness/browser.js";
import { Gate } from "./harness/model.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;
let asking;
let silent;

before(async () => {
  ({ model, server, browser } = await raise());
  asking = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
  silent = model.scene((answer) => answer.say("I delegate."));
});
after(lower);

const asks = () => server.question({ prompt: `Look it up. ${asking}` });
const works = () => server.create({ prompt: `Plan the move. ${silent}` });

const logOf = (story) => JSON.parse(readFileSync(new URL(`unit/items/${story}.json`, import.meta.url), "utf8")).log;

/** Answers for a parent with a log in place of its own: the first part at once, the rest when the gate opens. */
async function delegates(page, parent, child, gate) {
  const log = JSON.parse(JSON.stringify(logOf("delegates")).replaceAll('"w1"', `"${child}"`));
  const first = logOf("delegating").length;
  const frames = (events) => events.map((event) => `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  await page.route(`**/executions/${parent}/events`, async (route) => {
    const resumes = route.request().headers()["last-event-id"] !== undefined;
    if (resumes) await gate.passed;
    const body = resumes ? frames(log.slice(first)) : `${frames(log.slice(0, first))}event: stream.synced\ndata: {}\n\n`;
    await route.fulfill({ contentType: "text/event-stream", body });
  });
}

const line = (page, call, name) => page.locator(`article.item[data-id="tool:${call}"] .children li`, { hasText: name });

test("a child is a line below the calls that are about it, and opens", () =>
  visit(browser, server, async (v) => {
    const [parent, question] = [await works(), await asks()];
    await server.ends(parent.id);
    const gate = new Gate();
    const page = await v.tab();
    await delegates(page, parent.id, question.executionId, gate);
    await page.goto(server.link(`/executions/${parent.id}`));
    await reads(line(page, "c1", "researcher"), /^interrupted: its model is awayresearcher1 approval waits$/);
    await reads(line(page, "c2", "checker"), /^at workchecker$/);
    await reads(line(page, "c4", "researcher"), /1 approval waits/);
    await reads(line(page, "c4", "checker"), /at work/);
    await reads(page.locator('article.item[data-id="tool:c4"] [data-status="waitingForDelegate"]'), /^waits for other agents$/);
    await reads(page.locator(".bar"), /1 to decide in its agents/);
    await page.getByText("An agent below is interrupted: somebody must choose on its page how it continues.").waitFor();
    await accessible(page, "a parent");

    gate.open();
    await status(page, "cancelled");
    await reads(line(page, "c1", "researcher"), /^ended with its parentresearcher$/);
    await reads(line(page, "c2", "checker"), /^failedcheckerlimitReached: Too many rounds\.$/);
    await reads(line(page, "c5", "writer"), /^ended with its parentwriter$/);
    await reads(page.locator("article.item.user").last(), /^Results of other agents/);
    assert.doesNotMatch(await page.locator(".bar").textContent(), /to decide in its agents/);

    await line(page, "c1", "researcher").getByRole("link", { name: "researcher" }).click();
    await page.getByRole("heading", { level: 1, name: /^Look it up\./ }).waitFor();
    await card(page, question).getByRole("button", { name: "Approve", exact: true }).waitFor();
    await server.post(`/executions/${question.executionId}/cancel`, {});
  }));

test("the tree stands beside the conversation of each of its executions, and says what waits and what was used", () =>
  visit(browser, server, async (v) => {
    const work = { source: { type: "internal" }, prompt: `Look it up. ${asking}`, capabilities: { execute: "ask" } };
    const leading = model.scene((answer, _, step) => (step === 0 ? answer.call("delegate", work) : answer.say("Done.")));
    const root = await server.create({ prompt: `Lead. ${leading}`, keepOpen: true, delegation: {}, capabilities: { delegate: "allow", execute: "ask" } });
    const page = await v.tab();
    await page.goto(server.link(`/executions/${root.id}`));
    const tree = page.locator("details", { hasText: "Agents of this tree" });
    await reads(tree.locator("summary"), /^Agents of this tree: 2 agents, 2 at work, 1 approval waits/);
    await tree.locator("summary").click();
    await reads(tree.locator("li").first(), /“Lead\./);
    await reads(tree.locator("li").last(), /^needs approval.*1 approval waits.*“Look it up\./);
    await accessible(page, "a tree");
    const dialog = page.getByRole("dialog", { name: "Close execution" });
    await page.getByRole("button", { name: "Close execution" }).click();
    await reads(dialog.locator("li"), /, asked “Look it up\./);
    await dialog.getByRole("button", { name: "Keep it open" }).click();
    await tree.locator("li").last().getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: /^Look it up\./ }).waitFor();
    await reads(tree.locator("summary"), /^Agents of this tree: 2 agents/);
    await tree.locator("summary").click();
    assert.equal(await tree.locator('[aria-current="page"]').count(), 1, "it marks where one is");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await server.reaches(root.id, "idle");
    await server.post(`/executions/${root.id}/close`);
    await server.ends(root.id);
    await reads(tree.locator("summary"), /^Agents of this tree: 2 agents(, [\d,]+ tokens)?$/);
    const alone = await works();
    await page.goto(server.link(`/executions/${alone.id}`));
    await page.getByRole("heading", { level: 1, name: /^Plan the move\./ }).waitFor();
    assert.equal(await tree.isVisible(), false, "what delegates nothing has no tree");
  }));

test("closing asks before it cancels agents below", () =>
  visit(browser, server, async (v) => {
    const open = await server.create({ prompt: `Plan the move. ${silent}`, keepOpen: true });
    const page = await v.tab();
    const below = { id: open.id, parent: { name: "researcher", path: [{ name: "planner", asked: "Plan" }, { name: "researcher", asked: "Read <b>up</b>" }] } };
    await page.route(`**/executions/${open.id}/close`, (route) =>
      route.request().method() === "GET" ? route.fulfill({ json: { cancels: [below] } }) : route.continue());
    await page.goto(server.link(`/executions/${open.id}`));
    await status(page, "idle");
    const dialog = page.getByRole("dialog", { name: "Close execution" });
    const ask = () => page.getByRole("button", { name: "Close execution" }).click();
    await ask();
    await reads(dialog.locator("li"), /^researcher, asked “Read <b>up<\/b>”$/);
    await accessible(page, "the question before a close");
    await dialog.getByRole("button", { name: "Keep it open" }).click();
    await dialog.waitFor({ state: "detached" });
    await status(page, "idle");
    await ask();
    await dialog.getByRole("button", { name: "Close, and cancel them" }).click();
    await status(page, "completed");
  }));

const long = "averylongwordwithoutanyblank".repeat(10);

/** Answers as if some executions were children of a root. */
async function family(page, root, isChild) {
  const path = (id) => [
    { executionId: root, name: "planner", asked: "Plan the <b>move</b>." },
    { executionId: id, name: "researcher", asked: `Read \u202e up ${long}` },
  ];
  const spoil = (one) => {
    if (isChild(one.executionId)) return { ...one, root, path: path(one.executionId) };
    if (!isChild(one.id)) return one;
    return { ...one, parent: { executionId: root, toolCallId: "c1", root, depth: 1, name: "researcher", path: path(one.id) } };
  };
  await page.route(/\/(approvals|executions)(\?|\/[0-9a-f-]{20,}$)/, async (route) => {
    if (route.request().method() !== "GET") return route.continue();
    const response = await route.fetch();
    if (!response.ok()) return route.fulfill({ response });
    const body = await response.json();
    await route.fulfill({ json: body.items === undefined ? spoil(body) : { ...body, items: body.items.map(spoil) } });
  });
}

for (const device of ["desktop", "phone"]) {
  test(`the card of a child says who was asked for what, and so does its page (${device})`, () =>
    visit(browser, server, async (v) => {
      const [root, question] = [await works(), await asks()];
      const page = await v.tab({ device });
      await family(page, root.id, (id) => id === question.executionId);
      await page.goto(server.link("/inbox"));
      const steps = card(page, question).locator(".path li");
      await reads(steps.first(), /^planner, asked “Plan the <b>move<\/b>\.”$/);
      await reads(steps.last(), /^researcher, asked “Read .*U\+202E/);
      await reads(page.locator(".tree-head"), /^planner, asked “Plan the/);
      const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
      assert.ok(await fits(), "the inbox scrolls sideways");
      await accessible(page, "an inbox with a tree");

      await steps.last().getByRole("link").click();
      const nav = page.getByRole("navigation", { name: "Who was asked for what" });
      await reads(nav.locator('[aria-current="page"]'), /^researcher$/);
      await card(page, question).waitFor();
      assert.equal(await card(page, question).locator(".path").count(), 0, "the page says it once");
      assert.ok(await fits(), "the page of a child scrolls sideways");
      await accessible(page, "a child");
      await nav.getByRole("link", { name: "planner" }).click();
      await page.getByRole("heading", { level: 1, name: /^Plan the move\./ }).waitFor();
      assert.equal(await page.locator("nav.path").count(), 0, "a root was asked by nobody above it");
      await page.unrouteAll({ behavior: "wait" });
      await server.post(`/executions/${question.executionId}/cancel`, {});
    }));
}

test("a decision about a child is remembered for its tree, where the person says so", () =>
  visit(browser, server, async (v) => {
    const [root, question, alone] = [await works(), await asks(), await asks()];
    const page = await v.tab();
    await family(page, root.id, (id) => id === question.executionId);
    await page.goto(server.link("/inbox"));
    await card(page, alone).waitFor();
    const groups = (asked) => card(page, asked).getByLabel("Remember").locator("optgroup").evaluateAll((all) => all.map(({ label }) => label));
    assert.equal((await groups(alone)).length, 2, "an execution that nobody has delegated has no tree to speak of");
    assert.match((await groups(question))[1], /^For its tree/);
    const asked = card(page, question);
    await asked.getByLabel("Remember").selectOption({ label: "The tree: exactly this call" });
    await reads(asked.locator(".also"), /It holds in the root and all agents below it, until the root ends\.$/);
    await asked.getByRole("button", { name: "Approve", exact: true }).click();
    await server.ends(question.executionId);
    const { items } = await server.get("/permission-rules?scope=tree");
    assert.deepEqual(items.map(({ executionId }) => executionId), [question.executionId], "the server knows the root, whatever the page shows");
    await page.goto(server.link("/rules?scope=tree"));
    await reads(page.locator("article.rule"), /execution and all below it:/);
    await page.unrouteAll({ behavior: "wait" });
    await server.post(`/executions/${alone.executionId}/cancel`, {});
  }));

test("the inbox keeps the questions of a tree together, and moves none that is there", () =>
  visit(browser, server, async (v) => {
    const root = await works();
    const [first, other, second] = [await asks(), await asks(), await asks()];
    const children = new Set([first, second].map(({ executionId }) => executionId));
    const page = await v.tab();
    await family(page, root.id, (id) => children.has(id));
    await page.goto(server.link("/inbox"));
    await card(page, other).waitFor();
    const rows = () =>
      page.locator(".inbox > *").evaluateAll((all) => all.map((one) => [one.dataset.id ?? one.querySelector("a").textContent, one.getBoundingClientRect().top]));
    const before = await rows();
    assert.deepEqual(before.map(([name]) => name), ["planner", first.id, second.id, other.id]);

    await page.locator("body").press("j");
    await page.locator("body").press("j");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), second.id, "keys go from card to card");
    await page.evaluate(() => window.scrollTo(0, 0));

    const { id } = await server.create({ prompt: `Look it up. ${asking}` });
    children.add(id);
    const third = await server.asks(id);
    await card(page, third).waitFor();
    const now = await rows();
    assert.deepEqual(now.map(([name]) => name), [...before.map(([name]) => name), "planner", third.id]);
    assert.deepEqual(now.slice(0, before.length), before, "what was there has not moved");
    await page.unrouteAll({ behavior: "wait" });
    for (const { executionId } of [first, other, second, third]) await server.post(`/executions/${executionId}/cancel`, {});
  }));
