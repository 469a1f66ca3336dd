// What happens under an open page: text comes, it is loaded anew, its server is killed. The page shows what the server has: no gap, nothing twice.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, connection, reads, status, until, visit } from "./harness/browser.js";
import { Gate } from "./harness/model.js";
import { eventually } from "./harness/server.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise());
});
after(lower);

/**
 * Returns numbered words, each once, so that a missing or doubled word shows. The dot ends each number: "34 " at the end of a piece may be the
 * beginning of the server's token in hex (0x34 is the digit 4), and the server holds it back until the next piece.
 */
const words = (from, to) => Array.from({ length: to - from }, (_, index) => `w${from + index}. `).join("");

/**
 * Expects that the page shows the items that the API has, in their order, with their words. Notices are the page's own: they tell what
 * happened between the items.
 */
async function sameAsAPI(page, id) {
  const expected = (await server.items(id)).map((item) => ({
    id: item.id,
    kind: item.kind,
    words: numbered(item.message?.text ?? item.reasoning?.text ?? ""),
  }));
  const all = await page
    .locator("article.item")
    .evaluateAll((items) => items.map((item) => ({ id: item.dataset.id, kind: item.dataset.kind, text: item.textContent })));
  const shown = all
    .filter(({ kind }) => kind !== "notice")
    .map(({ text, ...item }) => ({ ...item, words: ["message", "reasoning"].includes(item.kind) ? numbered(text) : [] }));
  assert.deepEqual(shown, expected, "the items of the page");
}

const numbered = (text) => text.match(/w\d+/g) ?? [];

/** Notes each state of the connection line from now on. */
async function noteConnection(page) {
  await page.evaluate(() => {
    const line = document.querySelector(".connection");
    window.__states = [{ state: line.dataset.state, text: line.textContent }];
    new MutationObserver(() => {
      const now = { state: line.dataset.state, text: line.textContent };
      if (JSON.stringify(window.__states.at(-1)) !== JSON.stringify(now)) window.__states.push(now);
    }).observe(line, { attributes: true, childList: true, subtree: true, characterData: true });
  });
}

test("each piece is on the page before the model says the next", () =>
  visit(browser, server, async (v) => {
    const [gates, seen] = [[new Gate(), new Gate(), new Gate()], new Gate()];
    const scene = model.scene(async (answer) => {
      answer.think(words(0, 5));
      for (const [index, gate] of gates.entries()) {
        await gate.passed;
        answer.say(words(10 * index + 10, 10 * index + 15));
      }
      await seen.passed;
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await reads(page.locator('article.item[data-kind="reasoning"]').last(), "w4");
    for (const [index, gate] of gates.entries()) {
      gate.open();
      await reads(page.locator('article.item[data-kind="message"]').last(), `w${10 * index + 14}`);
      await status(page, "streaming");
      await sameAsAPI(page, id);
    }
    seen.open();
    await status(page, "completed");
    await sameAsAPI(page, id);
  }));

test("loaded anew in the middle of a stream", () =>
  visit(browser, server, async (v) => {
    const [half, loaded] = [new Gate(), new Gate()];
    const scene = model.scene(async (answer) => {
      answer.think(words(0, 40));
      await answer.speak(words(40, 120));
      half.open();
      await loaded.passed;
      await answer.speak(words(120, 200));
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await half.passed;
    await reads(page.locator('article.item[data-kind="message"]').last(), "w119");
    await page.reload();
    await reads(page.locator('article.item[data-kind="message"]').last(), "w119");
    await status(page, "streaming");
    await sameAsAPI(page, id);
    loaded.open();
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="message"]').last(), "w199");
    await sameAsAPI(page, id);
  }));

test("loaded anew while an approval waits, in the inbox and in the execution", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo w1 w2 w3" }) : answer.say(words(4, 9))));
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const approval = await server.asks(id);
    const page = await v.open(`/executions/${id}`);
    await card(page, approval).getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.reload();
    await card(page, approval).getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.goto(`${server.url}/#/inbox`);
    await page.reload();
    await card(page, approval).getByRole("button", { name: "Approve", exact: true }).click();
    await server.ends(id);
    await page.goto(`${server.url}/#/executions/${id}`);
    await status(page, "completed");
    await sameAsAPI(page, id);
  }));

test("all modules are asked for at once, and loaded anew the page has them already", () =>
  visit(browser, server, async (v) => {
    const page = await v.tab();
    await page.route(/\/main\.js$/, async (route) => {
      const known = eventually("the modules are asked for before one of them could tell of another", () => v.requests.length > 60);
      await known.then(() => route.continue(), () => route.abort());
    });
    await page.goto(server.link("/inbox"));
    await connection(page, "live");
    await page.unroute(/\/main\.js$/); // what is routed is not taken from the browser's store
    await page.reload();
    await connection(page, "live");
    await page.reload();
    await connection(page, "live");
    const files = await page.evaluate(loaded);
    assert.ok(files.length > 60, `${files.length} files`);
    assert.deepEqual(files.filter(({ bytes }) => bytes > 0), [], "what was asked for once more");
  }));

/** What the page has loaded from its folder; bytes: what came over the line, so 0 for what the browser had. */
const loaded = () =>
  performance
    .getEntriesByType("resource")
    .filter(({ name }) => name.includes("/console/"))
    .map(({ name, transferSize }) => ({ name: name.split("/").at(-1), bytes: transferSize }));

test("the server is killed in the middle of a stream and comes back: the page says so, and goes on", () =>
  visit(browser, server, async (v) => {
    v.expect(/ERR_CONNECTION_REFUSED/, /ERR_CONNECTION_RESET/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/);
    const [half, back] = [new Gate(), new Gate()];
    let answers = 0;
    const scene = model.scene(async (answer, conversation, step) => {
      if (step === 0) return void answer.call("read", { path: "notes.txt" });
      if (++answers > 1) {
        await back.passed;
        return void (await answer.speak(words(500, 560)));
      }
      await answer.speak(words(40, 120));
      half.open();
      await answer.closed;
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await half.passed;
    await reads(page.locator('article.item[data-kind="message"]').last(), "w119");
    await connection(page, "live");
    await noteConnection(page);
    await server.kill();
    await connection(page, "reconnecting");
    assert.notEqual((await page.locator(".connection").textContent()).trim(), "", "it says so");
    await server.start();
    await connection(page, "live");
    back.open();
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="message"]').last(), "w559");
    await sameAsAPI(page, id);
    const states = (await page.evaluate(() => window.__states)).map(({ state }) => state);
    const walk = states.slice(states.indexOf("live"));
    assert.ok(walk.indexOf("reconnecting") > 0 && walk.indexOf("live", walk.indexOf("reconnecting")) > 0, `the line went ${states.join(", ")}`);
  }));

test("the server is killed while the inbox is open: what waited stays once, and what comes later comes", () =>
  visit(browser, server, async (v) => {
    v.expect(/ERR_CONNECTION_REFUSED/, /ERR_CONNECTION_RESET/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/);
    const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo w1" }) : answer.say("Done.")));
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const before = await server.asks(id);
    const page = await v.open("/inbox");
    await card(page, before).waitFor();
    await connection(page, "live");
    await server.kill();
    await connection(page, "reconnecting");
    assert.equal(await card(page, before).count(), 1, "what is known is still shown");
    await server.start();
    await connection(page, "live");
    const later = await server.asks((await server.create({ prompt: `Go ${scene}` })).id);
    await card(page, later).waitFor();
    assert.equal(await card(page, before).count(), 1);
    assert.equal(await page.locator("article.approval").count(), 2);
    for (const approval of [before, later]) {
      await card(page, approval).getByRole("button", { name: "Approve", exact: true }).click();
      await page.locator(`article.approval[data-id="${approval.id}"][data-status="approved"]`).waitFor();
    }
    await server.ends(id);
  }));

test("a decision that finds no server says so, and can be sent again", () =>
  visit(browser, server, async (v) => {
    v.expect(/ERR_CONNECTION_REFUSED/, /ERR_CONNECTION_RESET/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/);
    const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo w1" }) : answer.say("Done.")));
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const approval = await server.asks(id);
    const page = await v.open("/inbox");
    const approve = card(page, approval).getByRole("button", { name: "Approve", exact: true });
    await approve.waitFor();
    await connection(page, "live");
    await server.kill();
    await approve.click();
    await reads(card(page, approval), /cannot be reached/);
    assert.equal(await card(page, approval).getAttribute("data-status"), "pending", "nothing is shown that the server did not say");
    await server.start();
    await connection(page, "live");
    await until(page, (id) => !document.querySelector(`article.approval[data-id="${id}"] button`)?.disabled, approval.id);
    await approve.click();
    await page.locator(`article.approval[data-id="${approval.id}"][data-status="approved"]`).waitFor();
    await server.ends(id);
  }));

test("a call that ran when the server was killed: a person says what became of it", () =>
  visit(browser, server, async (v) => {
    v.expect(/ERR_CONNECTION_REFUSED/, /ERR_CONNECTION_RESET/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/);
    const scene = model.scene((answer, _, step) =>
      step === 0 ? answer.call("bash", { command: "echo begun; sleep 60" }) : answer.say("I read that."),
    );
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const call = await server.asks(id);
    const page = await v.open(`/executions/${id}`);
    await card(page, call).getByRole("button", { name: "Approve", exact: true }).click();
    // not what the page shows: its arguments have the word, too, and say nothing of whether the decision has arrived
    await eventually("the call prints", async () => (await server.items(id)).some((item) => item.tool?.output.includes("begun")));
    await server.kill();
    await connection(page, "reconnecting");
    await server.start();
    const outcome = await server.asks(id, 2);
    assert.equal(outcome.kind, "unknownOutcome");
    await card(page, outcome).getByLabel("Reason").fill("The file is complete.");
    await card(page, outcome).getByRole("button", { name: "It has succeeded" }).click();
    await status(page, "completed");
    const { decision } = await server.get(`/approvals/${outcome.id}`);
    assert.deepEqual([decision.resolution, decision.reason], ["succeeded", "The file is complete."]);
  }));
