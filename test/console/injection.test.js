// Nothing that a model, an agent or a user writes runs in the page of the person who approves, fetches anything, or vanishes from sight. Each of
// the strings of payloads.js goes into each field; that none runs is held by the tabs themselves (browser.js): __ran, dialogs, requests to elsewhere and
// breaches of the policy are faults there. Here the fields are filled, opened, and read.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { card, connection, readThrough, status, visit } from "./harness/browser.js";
import { payloads } from "./harness/payloads.js";
import { eventually, Refused } from "./harness/server.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

const printable = (text) => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, " ");

before(async () => {
  const agents = { scripted: { ...scripted, description: payloads[11] } };
  payloads
    .slice(0, 30)
    .forEach((description, index) => (agents[`agent${index}`] = { command: "no-such-program", description: printable(description) }));
  ({ model, server, browser } = await raise({ agents }));
});
after(lower);

/** Without what the contract does not take in names. */
const quoted = (text) => `'${text.replaceAll("\u0000", "").replaceAll("'", "'\\''")}'`;

/** What of a payload must be there to be read, whatever is made of blanks and of what cannot be seen. */
const fragments = (payload) => payload.split(/[^\x21-\x7e]+/).filter((part) => part.length > 1);

/** The same of a payload that was taken for Markdown: its words. The language of a fence and the title of a link are not shown. */
const spoken = (payload) =>
  payload
    .replace(/```.*/, "```")
    .replace(/ "[^"]*"\)/, ")")
    .match(/[A-Za-z0-9]{4,}/g) ?? [];

/** Expects that a text has all of these parts, blanks apart. */
function has(text, parts, what) {
  const dense = text.replaceAll(/\s+/g, "");
  const missing = parts.filter((part) => !dense.includes(part.replaceAll(/\s+/g, "")));
  assert.deepEqual(missing, [], `${what}: not to be read in ${JSON.stringify(text.slice(0, 1000))}`);
}

/** Expects that the page has no element but the console's own kinds, no handler in an attribute, and no link that runs or fetches. */
async function clean(page, what) {
  const found = await page.evaluate(() => {
    const foreign =
      "script, iframe, object, embed, img, picture, video, audio, source, track, math, base, meta, link, " +
      "style, template, marquee, frame, foreignObject, animate, use";
    const all = [...document.body.querySelectorAll("*")];
    return [
      ...all.filter((one) => one.matches(foreign)),
      ...all.filter((one) =>
        [...one.attributes].some(
          ({ name }) => name.startsWith("on") || name === "style" || name === "srcdoc" || name === "ping" || name === "formaction",
        ),
      ),
      ...all.filter((one) => one.hasAttribute("href") && !/^(https?:|mailto:|#\/|#main$|\/console\/|\/openapi)/.test(one.getAttribute("href"))),
      ...all.filter((one) => one.tagName === "FORM" && one.hasAttribute("action")),
    ].map((one) => one.outerHTML.slice(0, 300));
  });
  const styled = found.filter((html) => !/ style="/.test(html) || / on[a-z]+=/.test(html.split(">")[0])); // CSSOM writes the attribute, too
  assert.deepEqual(styled, [], `${what}: what must not be in a page`);
  const policy = await page.evaluate(() => [
    Object.getPrototypeOf({}) === Object.prototype,
    Object.keys(Object.prototype).length,
    document.querySelectorAll("#main").length,
  ]);
  assert.deepEqual(policy, [true, 0, 1], `${what}: the page's own things`);
}

/** Opens all that is closed, and passes over all with the mouse. */
async function rummage(page) {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("main details")) details.open = true;
    for (const one of document.querySelectorAll("main *")) one.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  });
}

/** Decides what an execution asks until it ends. */
async function attend(id, decide) {
  await eventually(
    `execution ${id} ends`,
    async () => {
      const { status, pendingApprovals } = await server.get(`/executions/${id}`);
      for (const { id } of pendingApprovals) await decide(await server.get(`/approvals/${id}`));
      return ["completed", "failed", "cancelled", "timedOut"].includes(status);
    },
    60_000,
  );
}

/** Works on a list with so many at once. */
async function each(list, work, workers = 8) {
  const left = [...list.entries()];
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let next; (next = left.shift()) !== undefined;) await work(next[1], next[0]);
    }),
  );
}

test("there are enough of them", () => {
  assert.ok(payloads.length >= 60);
  assert.equal(new Set(payloads).size, payloads.length);
});

test(
  "in all fields of an execution: prompt, instructions, metadata, folder, text, thought, tool, arguments, output, file, reason, edited arguments",
  { timeout: 600_000 },
  () =>
    visit(browser, server, async (v) => {
      const made = [];
      const missing = [];
      await each(payloads, async (payload, index) => (made[index] = { payload, id: await play(payload, index) }));
      const page = await v.open("/executions");
      await page.getByRole("heading", { level: 1, name: "Executions" }).waitFor();
      for (const { payload, id } of made) {
        await page.goto(`${server.url}/#/executions/${id}`);
        await status(page, "completed");
        await rummage(page);
        await shows(page, payload, id).catch((error) => missing.push(error.message));
        await clean(page, payload);
      }
      assert.deepEqual(missing, []);
      await page.getByRole("navigation").getByRole("link", { name: "Executions" }).click();
      await page.locator("main").getByText(/scene/).first().waitFor();
      await rummage(page);
      await clean(page, "the list");
    }),
);

/** Has an execution that ends with a payload in each of its fields. */
async function play(payload, index) {
  const folder = `folder ${index} ${printable(payload).replaceAll(/[/\\]/g, "_").slice(0, 100)}`.trim();
  await mkdir(join(server.workspace, folder), { recursive: true });
  await writeFile(join(server.workspace, folder, "read.txt"), payload);
  const scene = model.scene((answer, _, step) => {
    answer.think(payload);
    answer.say(payload);
    if (step === 0) answer.call("bash", { command: "true", x: undefined });
    if (step === 1)
      answer.call("write", { path: printable(payload).replaceAll(/[/\\]/g, "_").slice(0, 100), content: `before\n${payload}\nafter\n` });
    if (step === 2) answer.call(payload, { [payload]: payload });
    if (step === 3) answer.call("read", { path: "read.txt" });
    if (step === 4) answer.call("ask_user", { question: payload, options: [payload, "other"] });
  });
  const said = payload.replaceAll("\u0000", "");
  const body = { prompt: `${said}\n${scene}`, systemPrompt: said, instructions: said, workingDirectory: folder, metadata: { label: said } };
  const { id } = await server.create(body);
  await attend(id, (approval) =>
    server.decide(
      approval,
      approval.tool === "bash"
        ? { decision: "approve", arguments: { command: `printf '%s' ${quoted(payload)}` } }
        : { decision: "deny", reason: said },
    ),
  );
  return id;
}

/** Expects that each item of an execution can be read. */
async function shows(page, payload, id) {
  const items = await server.items(id);
  await page
    .locator("article.item")
    .nth(items.length - 1)
    .waitFor();
  const texts = new Map(
    await page
      .locator("article.item")
      .evaluateAll((all) =>
        all.map((item) => [item.dataset.id, item.textContent + [...item.querySelectorAll("a")].map((link) => link.href).join(" ")]),
      ),
  );
  for (const item of items) {
    const text = texts.get(item.id);
    assert.notEqual(text, undefined, `item ${item.id} of ${payload}`);
    if (item.kind === "reasoning" || item.kind === "message") has(text, spoken(payload), `${item.kind} with ${payload}`);
    else if (item.tool?.tool === "bash") has(text, fragments(payload), `output of ${payload}`);
    else if (item.kind === "diff") has(text, fragments(payload), `diff with ${payload}`);
  }
  const denied = items.find((item) => item.tool?.tool === "write" && item.tool.status === "denied");
  if (denied !== undefined) has(await page.locator("main").textContent(), fragments(payload), `reason ${payload}`);
}

test("in approvals that wait: command, file, diff, question, options", { timeout: 600_000 }, () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/inbox");
    await connection(page, "live");
    for (let from = 0; from < payloads.length; from += 12) {
      const batch = payloads.slice(from, from + 12);
      const scene = model.scene((answer, _, step) => {
        if (step > 0) return;
        for (const payload of batch) {
          answer.call("bash", { command: `echo ${quoted(payload)}` });
          answer.call("write", { path: `${printable(payload).replaceAll(/[/\\]/g, "_").slice(0, 100)}.txt`, content: `before\n${payload}\nafter\n` });
          answer.call("ask_user", { question: payload, options: [printable(payload), "other"] });
        }
      });
      const { id } = await server.create({ prompt: `Go ${scene}` });
      const approvals = await waiting(id, batch.length * 2);
      for (const approval of approvals) {
        const shown = card(page, approval);
        await shown.waitFor();
        const parts = fragments(approval.question?.message ?? approval.arguments.command ?? approval.arguments.content);
        await page.waitForFunction((id) => document.querySelector(`article.approval[data-id="${id}"]`)?.textContent.length > 80, approval.id);
        has(await shown.textContent(), parts, "the card of an approval");
      }
      await rummage(page);
      await clean(page, "the inbox");
      await server.post(`/executions/${id}/cancel`, { reason: printable(batch[0]) });
      await page.goto(`${server.url}/#/rules`);
      await page.goto(`${server.url}/#/inbox`);
      await connection(page, "live");
    }
  }),
);

/** The approvals of an execution, when there are at least so many and no more come. */
async function waiting(id, least) {
  let before = -1;
  return eventually(`${least} approvals of ${id}`, async () => {
    const { status } = await server.get(`/executions/${id}`);
    const { items } = await server.get(`/executions/${id}/approvals`);
    const settled = items.length >= least && items.length === before && status === "pendingToolApproval";
    before = items.length;
    return settled ? items : undefined;
  });
}

test("while it streams, in pieces of three characters", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene(async (answer) => {
      for (const payload of payloads) answer.think(`${payload}\n\n`);
      await answer.speak(payloads.join("\n\n"), { size: 3, pace: 0 });
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await eventually("all was said", async () => (await server.get(`/executions/${id}`)).status === "completed", 120_000); // two thousand pieces
    await status(page, "completed");
    await rummage(page);
    await clean(page, "a stream");
    const texts = await readThrough(page);
    for (const item of (await server.items(id)).slice(1)) {
      for (const payload of payloads) has(texts.get(item.id) ?? "", spoken(payload), `the ${item.kind}`);
    }
    await page.getByRole("button", { name: "Raw events" }).click();
    await rummage(page);
    await clean(page, "the raw feed");
  }));

test("what a person types: reason, edited arguments, a pasted token, and the API's own words about it", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 4\d\d/);
    const some = payloads.filter((payload) => /^[\x20-\x7e]+$/.test(payload)).filter((_, index) => index % 6 === 0);
    const scene = model.scene((answer) => answer.call("bash", { command: "true" }));
    const page = await v.open("/inbox");
    await connection(page, "live");
    for (const payload of some) {
      const { id } = await server.create({ prompt: `Go ${scene}` });
      const first = await server.asks(id);
      await card(page, first).getByRole("button", { name: "Deny", exact: true }).click();
      await card(page, first).getByLabel("Reason").fill(payload);
      await card(page, first).getByRole("button", { name: "Send denial" }).click();
      await page.locator(`article.approval[data-id="${first.id}"][data-status="denied"]`).waitFor();
      has(await card(page, first).textContent(), fragments(payload), "a reason");
      await server.post(`/executions/${id}/cancel`, { reason: payload });
      await page.goto(`${server.url}/#/new`);
      await page.getByLabel("Prompt", { exact: true }).fill(payload);
      await page.getByLabel("Working directory").fill(payload);
      await page.getByRole("button", { name: "Start" }).first().click();
      await page
        .locator(".field-workingDirectory .error")
        .filter({ hasText: /director|folder|workspace/i })
        .waitFor();
      await clean(page, "a form with an error");
      await page.goto(`${server.url}/#/inbox`);
    }
    const door = await v.tab();
    await door.goto(`${server.url}/#/inbox`);
    for (const payload of some) {
      await door.getByLabel("Link or token").fill(payload);
      await door.getByRole("button", { name: "Come in" }).click();
      await clean(door, "the door");
      if ((await door.getByLabel("Link or token").count()) === 0) await door.waitForFunction(() => document.querySelector("#token") !== null);
    }
  }));

test("in the words of a model that failed, and in the names of keys, rules and agents", () =>
  visit(browser, server, async (v) => {
    const ids = [];
    await each(payloads, async (payload, index) => {
      const scene = model.scene((answer) => answer.refuse(400, payload));
      ids[index] = (await server.create({ prompt: `Go ${scene}` })).id;
      await server.ends(ids[index]);
      for (const matcher of [{ tool: printable(payload).slice(0, 200) }, { command: printable(payload) }]) {
        await server
          .post("/permission-rules", { scope: "global", effect: "ask", matcher })
          .catch((error) => assert.ok(error instanceof Refused && error.status === 422, error));
      }
    });
    const page = await v.open("/rules");
    await page.getByRole("heading", { level: 1, name: "Permission rules" }).waitFor();
    await page
      .getByRole("button", { name: /revoke/i })
      .first()
      .waitFor();
    await rummage(page);
    await clean(page, "the rules");
    for (const id of ids.filter((_, index) => index % 3 === 0)) {
      await page.goto(`${server.url}/#/executions/${id}`);
      await status(page, "failed");
      await clean(page, "an execution that failed");
    }
    await page.goto(`${server.url}/#/registry`);
    await page.getByRole("heading", { level: 1, name: "Agents and models" }).waitFor();
    await page.getByText("agent29").first().waitFor();
    has(
      await page.locator("main").textContent(),
      payloads.slice(0, 30).flatMap((payload) => fragments(printable(payload))),
      "the agents",
    );
    await clean(page, "the registry");
  }));

test("in what an external agent sends: titles, options, plans, commands, diffs, forms", { timeout: 600_000 }, () =>
  visit(browser, server, async (v) => {
    const page = await v.open("/inbox");
    await connection(page, "live");
    for (let from = 0; from < payloads.length; from += 20) {
      const batch = payloads.slice(from, from + 20);
      const id = await external(batch);
      const approvals = await waiting(id, batch.length);
      await page.goto(`${server.url}/#/inbox`);
      for (const approval of approvals) await card(page, approval).waitFor();
      await rummage(page);
      await clean(page, "the inbox");
      await page.goto(`${server.url}/#/executions/${id}`);
      await page.locator("article.approval").first().waitFor();
      await readThrough(page);
      await rummage(page);
      await clean(page, "the execution of an agent");
      await page.getByRole("button", { name: "Raw events" }).click();
      await clean(page, "the raw feed");
      await server.post(`/executions/${id}/cancel`, {});
      await status(page, "cancelled");
    }
  }),
);

/** Has the scripted agent say these things in all the ways that it knows, and ask. */
async function external(batch) {
  const lines = [];
  const word = (text) => JSON.stringify(text);
  batch.forEach((payload, index) => {
    const name = payload.replaceAll(/[,:]/g, ";").replaceAll("\n", " ");
    const options = `once:allow_once:${name},x${index}:${name.slice(0, 20)}:${name},no:reject_once:${name}`;
    lines.push(
      `say ${word(payload)}`,
      `think ${word(payload)}`,
      `call c${index} kind=edit title=${word(payload)} input=${word2({ path: payload, [payload]: payload })}`,
    );
    lines.push(
      `diff c${index} ${word(`f${payload.replaceAll("\u0000", "")}`)} ${word("before\n")} ${word(payload)}`,
      `plan ${word(`${payload}:pending`)}`,
      `info ${word(payload)}`,
    );
    lines.push(`raw ${word2({ sessionUpdate: payload, [payload]: payload })}`, `commands ${word(name)}`);
    lines.push(
      `ask& c${index} title=${word(payload)} input=${word2({ command: payload })} options=${word(options)}`,
    );
  });
  lines.push("join");
  const prompt = lines.map((line) => `#! ${line}`).join("\n");
  return (await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt, debug: true })).id;
}

/** JSON in one line, as a step's word. */
const word2 = (value) => JSON.stringify(value);
