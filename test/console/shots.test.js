// Pictures of the pages for people to look at, in test/console/shots: inbox, execution and form, light and dark, on a desk and on a phone.

import { mkdir, stat, writeFile } from "node:fs/promises";
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { card, connection, loaded, shots, status, visit } from "./harness/browser.js";
import { looks } from "./harness/looks.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;
let ids;

const notes =
  "# Disks\n\nThe volume `/var` of **db-3** is at 97 %. Most of it are old segments:\n\n" +
  "| folder | size |\n| - | -: |\n| `/var/lib/pg/wal` | 41 GB |\n| `/var/log` | 9 GB |\n\n" +
  "1. Move the segments away.\n2. Watch the replication lag.\n\n```sh\ndu -xh /var --max-depth=2 | sort -h | tail\n```\n";
const old = "retention: 30d\ncompress: false\nlevel: debug\npath: /var/log\n";

before(async () => {
  const agents = { scripted: { ...scripted, description: "A scripted agent" } };
  ({ model, server, browser } = await raise({ agents }));
  await mkdir(join(server.workspace, "infra", "logging"), { recursive: true });
  await writeFile(join(server.workspace, "infra", "logging", "rotate.yaml"), old);
  ids = await start();
});
after(lower);

/** A night's work: one command that ran, and questions that wait. */
async function start() {
  const scene = model.scene((answer, _, step) => {
    if (step === 0) {
      answer.think("The disk fills up. First I look at what is large, then at how the logs are rotated.");
      answer.say("I look at what fills the disk, and at how logs are kept.");
      answer.call("bash", { command: "df -h . | head -n 5; seq 1 12" });
      return answer.call("read", { path: "rotate.yaml" });
    }
    answer.think("Old segments are the largest. To delete them is dangerous, so I propose to rotate the logs first.");
    answer.say(notes);
    answer.call("write", {
      path: "rotate.yaml",
      content: old.replace("30d", "7d").replace("compress: false", "compress: true").replace("debug", "info"),
    });
    answer.call("bash", {
      command: "find /var/log -name '*.gz' -mtime +7 -print                                                     ; rm -rf /var/lib/pg/wal",
    });
  });
  const { id } = await server.create({
    prompt: `Find out why the disk of db-3 fills up, and do something about it. ${scene}`,
    workingDirectory: "infra/logging",
    metadata: { ticket: "OPS-1234" },
  });
  await server.decide(await server.asks(id), { decision: "approve", remember: { scope: "execution", previewId: "exact" } });
  await server.post("/permission-rules", {
    scope: "global",
    effect: "allow",
    matcher: { agent: "internal", class: "execute", command: "git log *" },
  });
  await server.post("/permission-rules", { scope: "global", effect: "deny", matcher: { mcpServer: "github" } });
  await server.asks(id, 3);
  const outside = await server.post("/executions", {
    source: { type: "acp", command: "scripted" },
    prompt:
      '#! plan Look:completed Migrate:in_progress Verify:pending\n#! say I want to migrate the database.\n' +
      '#! ask c1 kind=execute title="Run migrate up" input={"command":"migrate up"}\n#! say That was it.',
  });
  await server.asks(outside.id);
  const question = model.scene((answer, _, step) =>
    step === 0 ? answer.call("ask_user", { question: "Which replica shall be promoted?", options: ["db-1", "db-2"] }) : answer.say("Thank you."),
  );
  await server.asks((await server.create({ prompt: `Promote a replica. ${question}` })).id);
  const done = model.scene((answer) => answer.say(notes));
  const ended = await server.create({ prompt: `Summarise the night. ${done}` });
  await server.ends(ended.id);
  return { waiting: id, outside: outside.id, ended: ended.id };
}

for (const { device, colorScheme } of looks) {
  test(`pictures: ${device}, ${colorScheme}`, () =>
    visit(browser, server, async (v) => {
      await mkdir(shots, { recursive: true });
      const page = await v.open("/inbox", { device, colorScheme });
      const take = async (name, fullPage = false) => {
        const path = join(shots, `${name}-${device}-${colorScheme}.png`);
        await page.screenshot({ path, fullPage });
        assert.ok((await stat(path)).size > 5000, path);
      };
      await connection(page, "live");
      await page.locator("article.approval").nth(3).waitFor();
      await take("inbox");
      await take("inbox-full", true);
      for (const [name, id] of Object.entries(ids)) {
        await page.goto(`${server.url}/#/executions/${id}`);
        await page.locator("article.item").first().waitFor();
        await status(page, name === "ended" ? "completed" : "pendingToolApproval");
        await take(`execution-${name}`);
        await take(`execution-${name}-full`, true);
      }
      await page.getByRole("button", { name: "Raw events" }).click();
      await take("execution-raw");
      for (const [path, heading] of [
        ["new", "New execution"],
        ["executions", "Executions"],
        ["rules", "Permission rules"],
        ["registry", "Agents and models"],
      ]) {
        await page.goto(`${server.url}/#/${path}`);
        await loaded(page, heading);
        await take(path);
        await take(`${path}-full`, true);
      }
      const waits = (await server.get(`/executions/${ids.waiting}/approvals`)).items.find(({ status }) => status === "pending");
      await page.goto(`${server.url}/#/inbox`);
      await card(page, waits).getByRole("button", { name: "Deny", exact: true }).click();
      await card(page, waits).getByLabel("Reason").waitFor();
      await take("inbox-deny");
    }));
}
