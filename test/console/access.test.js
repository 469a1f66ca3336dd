// For everybody: axe-core finds nothing on any page, in light and dark, on a desk and on a phone, and the inbox goes by keyboard alone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { card, connection, loaded, reads, status, visit } from "./harness/browser.js";
import { looks } from "./harness/looks.js";
import { Gate } from "./harness/model.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted } }));
});
after(lower);

const rich =
  "# Title\n\nText with **bold**, `code`, a [link](https://example.com) and a table:\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n" +
  "```sh\ndf -h\n```\n\n> A quote.\n\n1. one\n2. two\n\n---\n\nEnd.";

/** A scene that shows all kinds of items, asks all kinds of questions, and comes to its end when they are answered. */
const everything = () =>
  model.scene((answer, _, step) => {
    answer.think(`I think. ${rich}`);
    answer.say(rich);
    if (step > 0) return;
    answer.call("list", { path: "." });
    answer.call("bash", { command: `seq 1 300 | sort -n; echo ${"x".repeat(200)}` });
    answer.call("write", { path: "notes.md", content: Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n") });
    answer.call("ask_user", { question: "Which one shall it be?", options: ["this one", "that one"] });
  });

const twoQuestions =
  '#! plan Look:completed Write:in_progress\n#! commands review plan\n#! call c1 kind=edit title=Edit\n' +
  '#! diff c1 a.txt "old\\n" "new\\n"\n#! ask& c1 title=Delete\n#! say Hello\n#! join\n' +
  '#! elicit "Who are you?" {"type":"object","properties":{"name":{"type":"string","title":"Name"},' +
  '"old":{"type":"boolean","title":"Old"},"colour":{"type":"string","enum":["red","green"],"title":"Colour"}},"required":["name"]}';

for (const look of looks) {
  const name = `${look.device}, ${look.colorScheme}`;

  test(`axe-core finds nothing: ${name}`, { timeout: 600_000 }, () =>
    visit(browser, server, async (v) => {
      const door = await v.tab(look);
      await door.goto(server.url);
      await door.getByLabel("Link or token").waitFor();
      await accessible(door, "the door");

      const page = await v.open("/inbox", look);
      await connection(page, "live");
      await accessible(page, "the inbox, empty or not");
      const { id } = await server.create({ prompt: `Go ${everything()}`, metadata: { ticket: "OPS-1" } });
      const outside = await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt: twoQuestions });
      const asked = [];
      for (const nth of [1, 2, 3]) asked.push(await server.asks(id, nth));
      const permission = await server.asks(outside.id);
      for (const approval of [...asked, permission]) await card(page, approval).waitFor();
      await accessible(page, "the inbox");
      const command = asked.find(({ tool }) => tool === "bash");
      await card(page, command).getByRole("button", { name: "Edit", exact: true }).click();
      await card(page, command).getByRole("button", { name: "Approve edited" }).waitFor();
      const file = asked.find(({ tool }) => tool === "write");
      await card(page, file).getByRole("button", { name: "Deny", exact: true }).click();
      await card(page, file).getByLabel("Reason").waitFor();
      await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
      await accessible(page, "the inbox with forms");

      for (const one of [id, outside.id]) {
        await page.goto(`${server.url}/#/executions/${one}`);
        await status(page, "pendingToolApproval");
        await accessible(page, "an execution that waits");
      }
      await server.decide(permission, { decision: "approve", optionId: "once" });
      const form = await server.asks(outside.id, 2);
      await card(page, form).waitFor();
      await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
      await accessible(page, "an execution with a form");
      await page.getByRole("button", { name: "Raw events" }).click();
      await accessible(page, "an execution with its raw events");
      await server.post(`/executions/${outside.id}/cancel`, { reason: "Enough." });
      await status(page, "cancelled");
      for (const approval of asked)
        await server.decide(
          approval,
          approval.kind === "question"
            ? { decision: "deny" }
            : { decision: "approve", ...(approval.tool === "bash" ? { remember: "execution" } : {}) },
        );
      await server.ends(id);
      await page.goto(`${server.url}/#/inbox`);
      await connection(page, "live");
      await page.goto(`${server.url}/#/executions/${id}`);
      await status(page, "completed");
      await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
      await accessible(page, "an execution that ended");

      await server.post("/permission-rules", {
        scope: "global",
        effect: "ask",
        matcher: { command: `git log ${look.device} ${look.colorScheme} *` },
      });
      for (const [path, heading] of [
        ["executions", "Executions"],
        ["new", "New execution"],
        ["rules", "Permission rules"],
        ["registry", "Agents and models"],
      ]) {
        await page.goto(`${server.url}/#/${path}`);
        await loaded(page, heading);
        await accessible(page, heading);
        await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
        await accessible(page, `${heading}, unfolded`);
      }
    }),
  );
}

/** What has the focus: its tag, its name, and the approval that it belongs to. */
const focused = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    const box = one.getBoundingClientRect();
    return {
      tag: one.tagName,
      text: (one.getAttribute("aria-label") ?? one.textContent).trim().slice(0, 40),
      card: one.closest("article.approval")?.dataset.id,
      seen: box.bottom > 0 && box.top < innerHeight,
      visible: one.matches(":focus-visible"),
    };
  });

/** Presses a key until what has the focus is what is looked for. */
async function press(page, key, found) {
  for (let times = 0; times < 40; times++) {
    if (found(await focused(page))) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${key} does not lead there, but to ${JSON.stringify(await focused(page))}`);
}

test("a letter alone does nothing where no card has the focus, also right after the page has come", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer) => answer.call("bash", { command: "echo once" }));
    const asked = await server.asks((await server.create({ prompt: `Go ${scene}` })).id);
    const page = await v.open("/inbox");
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    for (const key of ["a", "d", "e", "n", "r", "i", "Enter"]) await page.keyboard.press(key);
    await card(page, asked).waitFor();
    for (const key of ["a", "d", "e"]) await page.keyboard.press(key);
    assert.match(page.url(), /#\/inbox$/);
    assert.equal(await page.getByLabel("Reason").count(), 0);
    assert.equal((await server.get(`/approvals/${asked.id}`)).status, "pending");
    await server.post(`/executions/${asked.executionId}/cancel`, {});
  }));

test("the inbox by keyboard alone", () =>
  visit(browser, server, async (v) => {
    const scene = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
    const asked = [];
    for (let count = 0; count < 4; count++) asked.push(await server.asks((await server.create({ prompt: `Go ${scene}` })).id));
    const page = await v.open("/inbox");
    for (const approval of asked) await card(page, approval).waitFor();
    const decided = (approval, status) => page.locator(`article.approval[data-id="${approval.id}"][data-status="${status}"]`).waitFor();

    await page.keyboard.press("j");
    const first = await focused(page);
    assert.equal(first.card, asked[0].id, "j goes to the first card");
    assert.ok(first.visible, "its focus can be seen");
    await page.keyboard.press("j");
    assert.equal((await focused(page)).card, asked[1].id);
    await page.keyboard.press("k");
    assert.equal((await focused(page)).card, asked[0].id);
    await page.keyboard.press("ArrowDown");
    assert.equal((await focused(page)).card, asked[1].id);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("a");
    await decided(asked[0], "approved");
    assert.notEqual((await focused(page)).tag, "BODY", "the focus is not lost by a decision");

    await press(page, "j", (now) => now.card === asked[1].id);
    await page.keyboard.press("d");
    assert.equal((await focused(page)).tag, "TEXTAREA", "the reason has the focus");
    await page.keyboard.type("a reason with jade keys");
    await page.keyboard.press("Escape");
    assert.equal((await focused(page)).card, asked[1].id, "Escape leads back to the card");
    assert.equal(
      await card(page, asked[1])
        .getByRole("button", { name: "Send denial" })
        .isVisible()
        .catch(() => false),
      false,
    );
    await page.keyboard.press((await focused(page)).tag === "BUTTON" ? "Enter" : "d");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("Because.");
    await page.keyboard.press("Tab");
    await press(page, "Tab", (now) => now.text === "Send denial");
    await page.keyboard.press("Enter");
    await decided(asked[1], "denied");
    assert.equal((await server.get(`/approvals/${asked[1].id}`)).decision.reason, "Because.");

    await press(page, "j", (now) => now.card === asked[2].id);
    await card(page, asked[2]).getByRole("button", { name: "Edit", exact: true, disabled: false }).waitFor(); // as soon as it is known who asks
    await page.keyboard.press("e");
    assert.equal((await focused(page)).tag, "TEXTAREA", "the editor has the focus");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await reads(page.getByRole("dialog"), /approve/i);
    await accessible(page, "the list of keys");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });

    await press(page, "j", (now) => now.card === asked[3].id);
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(asked[3].executionId));
    await Promise.all(["g", "i"].map((key) => page.keyboard.press(key))); // one right behind the other: too slow, they are no pair
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    for (const approval of asked.slice(2)) await server.post(`/executions/${approval.executionId}/cancel`, {});
  }));

test("all of a page can be reached by Tab, and each stop can be seen", () =>
  visit(browser, server, async (v) => {
    const stop = new Gate();
    const scene = model.scene(async (answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : stop.passed));
    const { id } = await server.create({ prompt: `Go ${scene}` });
    const approval = await server.asks(id);
    for (const path of ["/inbox", `/executions/${id}`]) {
      const page = await v.open(path);
      await card(page, approval).waitFor();
      const names = new Set();
      for (let presses = 0; presses < 80 && !["Approve", "Deny", "Edit"].every((name) => names.has(name)); presses++) {
        await page.keyboard.press("Tab");
        const now = await focused(page);
        if (now.tag === "BODY") continue;
        assert.ok(now.seen, `${path}: ${now.tag} ${now.text} has the focus out of sight`);
        names.add(now.text.replace(/\s*\b[A-Z]$/i, (end) => (/^\s/.test(end) ? "" : end)));
      }
      for (const name of ["Approve", "Deny", "Edit"])
        assert.ok(
          [...names].some((one) => one.startsWith(name)),
          `${path}: ${name} among ${[...names].join(", ")}`,
        );
    }
    stop.open();
    await server.post(`/executions/${id}/cancel`, {});
  }));
