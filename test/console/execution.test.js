// The page of one execution beside its approvals: cancel, follow up, copy, the raw feed, output while it comes; and the form that starts one.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { card, reads, status, visit } from "./harness/browser.js";
import { Gate } from "./harness/model.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  const choosy = { ...scripted, args: [...(scripted.args ?? []), "-modes", "ask,code", "-config", "effort"] };
  ({ model, server, browser } = await raise({ agents: { scripted, choosy } }));
});
after(lower);

test("cancel asks, and ends it", () =>
  visit(browser, server, async (v) => {
    const stop = new Gate();
    const scene = model.scene(async (answer) => {
      answer.say("Working. ");
      await stop.passed;
    });
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await reads(page.locator('article.item[data-kind="message"]').last(), "Working.");
    await page.getByRole("button", { name: "Cancel execution" }).click();
    const sure = page
      .getByRole("dialog")
      .getByRole("button", { name: /cancel/i })
      .first();
    if (await sure.isVisible()) await sure.click();
    await status(page, "cancelled");
    assert.equal((await server.ends(id)).status, "cancelled");
    stop.open();
  }));

test("a follow-up goes on with the talk", () =>
  visit(browser, server, async (v) => {
    const first = model.scene((answer) => answer.say("The first answer."));
    const second = model.scene((answer) => answer.say("The second answer."));
    const { id } = await server.create({ prompt: `Go ${first}`, keepOpen: true });
    await server.reaches(id, "idle");
    const page = await v.open(`/executions/${id}`);
    await status(page, "idle");
    await page.getByLabel("Follow-up").fill(`And now ${second}`);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await reads(page.locator('article.item[data-kind="message"]').last(), "The second answer.");
    // What was sent is not there to be sent again, as soon as the server has answered: the agent may be faster.
    await page.waitForFunction((field) => field.value === "", await page.getByLabel("Follow-up").elementHandle());
    await server.post(`/executions/${id}/close`);
    await status(page, "completed");
  }));

test("copy as curl has the request, and never the token", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer) => answer.say("It's done."));
    const { id } = await server.create({ prompt: `It's "quoted" $HOME ${scene}` });
    await server.ends(id);
    const page = await v.open(`/executions/${id}`, { permissions: ["clipboard-read", "clipboard-write"] });
    await status(page, "completed");
    await page.getByRole("button", { name: "Copy as curl" }).first().click();
    const copied = await page
      .waitForFunction(() => navigator.clipboard.readText().then((text) => text || false))
      .then((handle) => handle.jsonValue());
    assert.match(copied, /^curl /);
    assert.match(copied, /\$SIGNOFF_TOKEN/);
    assert.equal(copied.includes(server.token), false);
  }));

test("the raw feed has every event", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer) => answer.say("Hello."));
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const { lastSeq } = await server.ends(id);
    const page = await v.open(`/executions/${id}`);
    await status(page, "completed");
    await page.getByRole("button", { name: "Raw events" }).click();
    await page.getByText("execution.created").first().waitFor();
    await page.getByText("execution.completed").first().waitFor();
    assert.ok(lastSeq > 5);
  }));

test("a command's output is there while it runs", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer, _, step) =>
      step === 0 ? answer.call("bash", { command: "echo the beginning; until [ -e go ]; do sleep 0.05; done; echo the end" }) : answer.say("Done."),
    );
    const { id } = await server.create({ prompt: `Go ${scene}`, capabilities: { execute: "allow", write: "allow" } });
    const page = await v.open(`/executions/${id}`);
    const approval = await Promise.race([server.asks(id).catch(() => undefined), server.reaches(id, "executingTool").then(() => undefined)]);
    if (approval !== undefined) await card(page, approval).getByRole("button", { name: "Approve", exact: true }).click();
    await reads(page.locator('article.item[data-kind="tool"]').first(), /the beginning/);
    await status(page, "executingTool");
    await writeFile(`${server.workspace}/go`, "");
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="tool"]').first(), /the end/);
  }));

test("an execution that is not there says so", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 404/);
    const page = await v.open("/executions/00000000-0000-7000-8000-000000000000");
    await page
      .locator("main")
      .getByText(/no execution|not found|no such|unknown/i)
      .first()
      .waitFor();
  }));

test("what the API does not take stands at its field", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 422/);
    const page = await v.open("/new");
    await page.getByLabel("Prompt", { exact: true }).fill("Look.");
    const folder = page.getByLabel("Working directory");
    await folder.fill("no/such/folder");
    await page.getByRole("button", { name: "Start" }).first().click();
    await page.locator('[aria-invalid="true"]').first().waitFor();
    assert.equal(await folder.getAttribute("aria-invalid"), "true");
    const described = (await folder.getAttribute("aria-describedby")).split(" ");
    const said = await page.evaluate((ids) => ids.map((id) => document.getElementById(id)?.textContent ?? "").join(" "), described);
    assert.match(said, /folder|director|exist/i);
    await folder.fill("");
    await page.getByRole("button", { name: "Start" }).first().click();
    await page.waitForURL(/#\/executions\/[0-9a-f-]{36}/);
  }));

test("the list of executions can be narrowed, and leads to each", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer) => answer.say("Hello."));
    const { id } = await server.create({ prompt: `A prompt of its own ${scene}` });
    await server.ends(id);
    const page = await v.open("/executions");
    const link = page.locator(`main a[href*="${id}"]`).first();
    await link.waitFor();
    await page
      .getByLabel("Status")
      .first()
      .selectOption("failed")
      .catch(() => undefined);
    await page.goto(`${server.url}/#/executions?status=completed`);
    await link.waitFor();
    await link.click();
    await status(page, "completed");
  }));

test("an agent's own options are its answers", () =>
  visit(browser, server, async (v) => {
    const prompt =
      '#! ask c1 title="Move money" input={"amount":1234567.25} options="yes:allow_once:Go,always:allow_always:Always go,no:reject_once:Stop"\n#! say After.';
    const { id } = await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt });
    const approval = await server.asks(id);
    const page = await v.open("/inbox");
    await reads(card(page, approval), "1234567.25");
    await card(page, approval).getByRole("button", { name: "Stop" }).click();
    await page.locator(`article.approval[data-id="${approval.id}"][data-status="denied"]`).waitFor();
    assert.equal((await server.get(`/approvals/${approval.id}`)).decision.optionId, "no");
    await server.ends(id);
  }));

test("what an agent offers is shown before it starts, and chosen for it and for a follow-up", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 422/);
    const page = await v.open("/new");
    await page.getByLabel("An external agent").check();
    await page.getByLabel("Agent", { exact: true }).selectOption("choosy");
    await reads(page.locator(".offers"), "low (now), high");
    await page.getByLabel("Options of the agent").fill("thought_level=loud");
    await page.getByLabel("Prompt", { exact: true }).fill("#! whoami");
    await page.getByLabel("Keep it open for further prompts").check();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await reads(page.locator(".field-options .error"), "It offers: low, high.");
    await page.getByLabel("Options of the agent").fill("thought_level=high");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await status(page, "idle");
    await reads(page.locator('article.item[data-kind="message"]').last(), '"effort":"high"');
    const options = page.getByRole("group", { name: "Options of the agent" });
    await reads(options, "stays The high");
    await options.getByLabel(/mode/).selectOption("code");
    await page.getByLabel("Follow-up").fill("#! whoami");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await reads(page.locator('article.item[data-kind="message"]').last(), '"mode":"code"');
    await reads(options, "stays The code");
    const id = page.url().split("/").at(-1);
    assert.deepEqual((await server.get(`/executions/${id}`)).source.options, { thought_level: "high" });
    await server.post(`/executions/${id}/close`);
    await status(page, "completed");
  }));

test("a question is answered in its form", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer, talk, step) =>
      step === 0
        ? answer.call("ask_user", { question: "Which replica?", options: ["db-1", "db-2"] })
        : answer.say(`I was told: ${talk.at(-1).content}`),
    );
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const approval = await server.asks(id);
    const page = await v.open(`/executions/${id}`);
    await card(page, approval)
      .getByLabel(/answer/i)
      .first()
      .selectOption("db-2");
    await card(page, approval).getByRole("button", { name: "Send answer" }).click();
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="message"]').last(), "db-2");
  }));

test("a file's change is shown as a diff, before and after it was approved", () =>
  visit(browser, server, async (v) => {
    await writeFile(`${server.workspace}/settings.txt`, "one\ntwo\nthree\n");
    const scene = model.scene((answer, _, step) =>
      step === 0 ? answer.call("edit", { path: "settings.txt", oldText: "two", newText: "2" }) : answer.say("Done."),
    );
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const approval = await server.asks(id);
    const page = await v.open("/inbox");
    await reads(card(page, approval), /settings\.txt/);
    await reads(card(page, approval), /\+1/);
    await card(page, approval).getByRole("button", { name: "Approve", exact: true }).click();
    await server.ends(id);
    await page.goto(`${server.url}/#/executions/${id}`);
    await status(page, "completed");
    await reads(page.locator('article.item[data-kind="diff"]').first(), /applied/);
    assert.equal(await readFile(`${server.workspace}/settings.txt`, "utf8"), "one\n2\nthree\n");
  }));

test("a number is shown to its last digit, also where a browser would round it", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer, _, step) =>
      step === 0 ? answer.call("bash", '{"command": "true", "count": 12345678901234567890}') : answer.say("Done."),
    );
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await status(page, "completed");
    await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
    await reads(page.locator('article.item[data-kind="tool"]').first(), "12345678901234567890");
    const edited = await page.evaluate(async () => {
      const module = (name) => import(new URL(name, document.querySelector("script").src).href);
      const [{ editable }, { parseJSON }] = [await module("arguments.js"), await module("json.js")];
      return editable(parseJSON('{"id": 12345678901234567890}').id);
    });
    assert.deepEqual(edited, { text: "12345678901234567890", json: true }, "as it stands in the form that edits it");
  }));

test("an address that names nothing says so", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of (400|404|422)/);
    const page = await v.open("/inbox");
    for (const id of ["%", "%E0%A4%A", "none", "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"]) {
      await page.goto(`${server.url}/#/executions/${id}`);
      await page.locator("main .notice.error").waitFor();
      await page.goto(`${server.url}/#/inbox`);
    }
  }));
