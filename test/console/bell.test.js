// What is noticed of questions while nobody looks at the console: the bell rings, once however many tabs there are, and a tab that nobody sees lets go of
// its stream and has missed nothing when it is seen again. The browser's notifications are caught, since nobody sees them here either.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { card, reads, visit } from "./harness/browser.js";
import { eventually } from "./harness/server.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let model;
let scene;

before(async () => {
  ({ model, server, browser } = await raise());
  scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo \u202eonce" }) : answer.say("Done.")));
});
after(lower);

/** Asks something new; nobody has answered it. */
const ask = () => server.question({ prompt: `Go ${scene}` });

/** How many streams the server has open. */
async function streams() {
  const response = await fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${server.token}` } });
  return Number(/^signoff_http_streams (\d+)$/m.exec(await response.text())[1]);
}

/** Stands for the browser's own. A person who is asked says what `answer` is. */
function caught(answer) {
  window.notes = [];
  window.Notification = class {
    static permission = "default";
    static async requestPermission() {
      return (this.permission = answer);
    }
    constructor(title, { body, tag }) {
      Object.assign(this, { title, body, tag, closed: false });
      window.notes.push(this);
    }
    close() {
      this.closed = true;
    }
  };
}

const notes = (page) => page.evaluate(() => window.notes.map(({ title, body, tag, closed }) => ({ title, body, tag, closed })));

/** Puts the tab behind another one, or before it. */
const look = (page, visible) =>
  page.evaluate((visible) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (visible ? "visible" : "hidden") });
    document.hasFocus = () => visible;
    document.dispatchEvent(new Event("visibilitychange"));
  }, visible);

async function inbox(v, page, answer = "granted") {
  await page.addInitScript(caught, answer);
  await page.goto(server.link("/inbox"));
  await page.getByRole("button", { name: "Notify me" }).waitFor();
  return page;
}

const turnOn = (page) => page.getByRole("button", { name: "Notify me" }).click();

test("the bell rings once for a question that nobody looks at, and falls silent when it is answered", () =>
  visit(browser, server, async (v) => {
    const first = await inbox(v, await v.tab());
    await turnOn(first);
    await first.getByRole("button", { name: "Notifications are on" }).waitFor();
    const second = await inbox(v, await first.context().newPage());
    await turnOn(second);
    await second.getByRole("button", { name: "Notifications are on" }).waitFor();

    const seen = await ask();
    for (const page of [first, second]) await card(page, seen).waitFor();
    for (const page of [first, second]) await look(page, false);
    const unseen = await ask();
    for (const page of [first, second]) await card(page, unseen).waitFor();
    const rung = [...(await notes(first)), ...(await notes(second))];
    assert.deepEqual(
      rung.map(({ tag, closed }) => ({ tag, closed })),
      [{ tag: unseen.id, closed: false }],
      "neither for what was looked at nor twice",
    );
    assert.match(rung[0].title, /^Signoff: bash/);
    assert.doesNotMatch(rung[0].body, /\u202e/, "what turns a text around is not passed on to the desktop");

    await server.decide(unseen, { decision: "deny" });
    for (const page of [first, second]) await page.waitForFunction(() => window.notes.every(({ closed }) => closed));
  }));

test("a click on a notification leads to the inbox", () =>
  visit(browser, server, async (v) => {
    const page = await inbox(v, await v.tab());
    await turnOn(page);
    await card(page, await ask()).waitFor();
    await page.goto(`${server.url}/#/executions`);
    await page.getByRole("heading", { name: "Executions" }).waitFor();
    await look(page, false);
    await ask();
    await page.waitForFunction(() => window.notes.length > 0);
    await page.evaluate(() => window.notes.at(-1).onclick());
    await page.waitForURL(/#\/inbox/);
    assert.equal((await notes(page)).at(-1).closed, true);
  }));

test("who refuses notifications is asked no more, and told why", () =>
  visit(browser, server, async (v) => {
    const page = await inbox(v, await v.tab(), "denied");
    await turnOn(page);
    await card(page, await ask()).waitFor();
    await page.waitForFunction(() => document.querySelector("[title*='refuse notifications']") !== null);
    await look(page, false);
    const approval = await ask();
    await card(page, approval).waitFor();
    assert.deepEqual(await notes(page), []);
  }));

test("a tab that nobody sees lets go of its stream, and has missed nothing when it is seen again", () =>
  visit(browser, server, async (v) => {
    const page = await v.tab();
    await page.clock.install();
    await page.goto(server.link("/inbox"));
    await card(page, await ask()).waitFor();
    await eventually("no stream but its own is open", async () => (await streams()) === 1);
    await look(page, false);
    await page.clock.fastForward(31_000);
    await eventually("the stream is let go of", async () => (await streams()) === 0);
    const opened = () => v.requests.filter((url) => new URL(url).pathname === "/events").length;
    const before = opened();
    const missed = await ask();
    await page.clock.fastForward(120_000); // whoever only lost its stream is back by then
    assert.equal(opened(), before, "it does not come back by itself");
    assert.equal(await card(page, missed).count(), 0);
    await look(page, true);
    await card(page, missed).waitFor();
    await reads(page.locator("nav"), /\d/);
  }));
