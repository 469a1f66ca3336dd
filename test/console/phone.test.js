// The person who approves is often not at a desk: the same walk on a phone, by touch. No page scrolls sideways, and what is to be touched is large enough.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { card, loaded, status, visit } from "./harness/browser.js";
import { lower, raise } from "./harness/stage.js";
import { misfits } from "./harness/touch.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise());
});
after(lower);

const small = { ...{ device: "phone" }, viewport: { width: 360, height: 740 } };

/** A call with everything that is wide. */
const wideCommand = `grep -r ${"averylongwordwithoutanyblank".repeat(12)} /srv/${"folder/".repeat(40)} | sort | uniq -c`;
const wideText = `# A heading\n\nText with \`${"code".repeat(60)}\` and https://example.com/${"path/".repeat(40)}\n\n` +
`| a | b | c |\n| - | - | - |\n| ${"cell ".repeat(40)} | ${"x".repeat(120)} | c |\n\n\`\`\`sh\n${wideCommand}\n\`\`\`\n\n` +
`${"x".repeat(400)}\n`;

const walk = () =>
  model.scene((answer, _, step) => {
    answer.think(wideText);
    answer.say(wideText);
    if (step === 0) answer.call("bash", { command: wideCommand });
    if (step === 1) answer.call("write", { path: `notes/${"long".repeat(30)}.md`, content: wideText });
  });

for (const [name, options] of Object.entries({ "390 px": { device: "phone" }, "360 px": small })) {
  test(`the walk on a phone of ${name}: nothing scrolls sideways, and all can be touched`, () =>
    visit(browser, server, async (v) => {
      await mkdir(join(server.workspace, "deep", "folder".repeat(30)), { recursive: true });
      const { id } = await server.create({
        prompt: `Go ${walk()} ${wideCommand}`,
        workingDirectory: `deep/${"folder".repeat(30)}`,
        metadata: { ticket: "x".repeat(200) },
      });
      const first = await server.asks(id);
      const page = await v.open("/inbox", options);
      const found = [];
      const asked = card(page, first);
      await asked.waitFor();
      found.push(...(await misfits(page, "the inbox")));
      await asked.getByRole("button", { name: "Deny", exact: true }).tap();
      await asked.getByLabel("Reason").waitFor();
      found.push(...(await misfits(page, "the inbox with a reason")));
      await page.reload();
      await asked.getByRole("button", { name: "Edit", exact: true }).tap();
      await asked.getByRole("button", { name: "Approve edited" }).waitFor();
      found.push(...(await misfits(page, "the inbox with an editor")));
      await page.reload();
      await asked.getByRole("button", { name: "Approve", exact: true }).tap();
      await page.locator(`article.approval[data-id="${first.id}"][data-status="approved"]`).waitFor();
      found.push(...(await misfits(page, "the inbox with a decision")));

      const second = await server.asks(id, 2);
      await page.goto(`${server.url}/#/executions/${id}`);
      await card(page, second).waitFor();
      found.push(...(await misfits(page, "an execution that waits")));
      await page.getByRole("button", { name: "Raw events" }).tap();
      found.push(...(await misfits(page, "an execution with its raw events")));
      await page.reload();
      await card(page, second).getByRole("button", { name: "Approve", exact: true }).tap();
      await status(page, "completed");
      found.push(...(await misfits(page, "an execution that ended")));

      for (const [link, heading] of [
        ["Executions", "Executions"],
        ["New", "New execution"],
        ["Rules", "Permission rules"],
        ["Agents", "Agents and models"],
      ]) {
        await page.getByRole("navigation").getByRole("link", { name: link }).tap();
        await loaded(page, heading);
        for (const closed of await page.locator("main details:not([open]) > summary").all()) if (await closed.isVisible()) await closed.tap();
        found.push(...(await misfits(page, heading)));
      }
      assert.deepEqual(found, []);
    }));
}

test("the door on a phone", () =>
  visit(browser, server, async (v) => {
    const page = await v.tab(small);
    await page.goto(server.url);
    await page.getByLabel("Link or token").waitFor();
    assert.deepEqual(await misfits(page, "the door"), []);
  }));
