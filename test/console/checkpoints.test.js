// What an execution has changed on disk: below the call that has, at the end of a turn of an external agent, and for the whole execution; and how a person takes
// it back. The diffs are those of a real server with real files. Some answers are those of the test.

import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { devices, reads, shots, status, visit } from "./harness/browser.js";
import { eventually } from "./harness/server.js";
import { lower, raise, scripted } from "./harness/stage.js";
import { misfits } from "./harness/touch.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted } }));
  await mkdir(shots, { recursive: true });
});
after(lower);

let folders = 0;

/** A folder of its own with some files, and an execution that changes them with a tool and with a command. */
async function worked(more = {}) {
  const name = `w${++folders}`;
  const folder = join(server.workspace, name);
  await mkdir(folder);
  await writeFile(join(folder, "port.txt"), "host db-1\nport 80\n");
  await writeFile(join(folder, "old name.txt"), "one\ntwo\nthree\nfour\nfive\nsix\n");
  await writeFile(join(folder, "run.sh"), "#!/bin/sh\necho run\n");
  const scene = model.scene((answer, _, step) => {
    if (step === 0) return answer.call("edit", { path: "port.txt", oldText: "port 80", newText: "port 8080" });
    if (step === 1) return answer.call("bash", { command: "mv 'old name.txt' 'new name.txt'; chmod +x run.sh; printf 'a\\0b' >blob; echo KEY=hidden >.env; mkdir deep; echo x >deep/file" });
    answer.say("Done.");
  });
  const { id } = await server.create({ prompt: `Change it. ${scene}`, workingDirectory: name, checkpoints: "bestEffort", capabilities: { write: "allow", execute: "allow" },
    ...more });
  await (more.keepOpen ? server.reaches(id, "idle") : server.ends(id));
  return { id, folder };
}

/** The diff that a call has on disk must be there: a scan may be slower than the end. */
const recorded = (id) => eventually("both calls have changes", async () => {
  const tools = (await server.items(id)).filter(({ kind }) => kind === "tool");
  return tools.length === 2 && tools.every(({ tool }) => tool.changes?.length > 0) && tools;
});

/** Opens the page of an execution. */
async function open(v, id, options = {}) {
  const page = await v.open(`/executions/${id}`, options);
  await page.locator('article.item[data-kind="tool"]').first().waitFor();
  return page;
}

const disk = (page, nth) => page.locator('article.item[data-kind="tool"] .disk').nth(nth);
const file = (around, name) => around.locator("details.disk-file").filter({ has: around.page().locator("summary .path", { hasText: name }) });
/** Expects that nothing scrolls sideways, and on a phone that all can be touched. */
async function fits(page, device, what) {
  const found = await misfits(page, what);
  assert.deepEqual(device === "phone" ? found : found.filter((one) => one.includes("sideways")), []);
}


for (const device of Object.keys(devices)) {
  test(`each call shows what it has changed on disk, and opens the real diff (${device})`, () =>
    visit(browser, server, async (v) => {
      const { id } = await worked();
      const [, bash] = await recorded(id);
      assert.equal(bash.tool.tool, "bash");
      const page = await open(v, id, { device });
      const [edit, command] = [disk(page, 0), disk(page, 1)];
      await reads(edit.locator("summary").first(), /^1 file changed\+1 −1/);
      await reads(command.locator("summary").first(), /^\d files changed/);

      await edit.locator("summary").first().press("Enter");
      await reads(file(edit, "port.txt").locator(".line.added"), /port 8080/);
      await reads(file(edit, "port.txt").locator(".line.deleted"), /port 80$/);
      assert.equal(await file(edit, "port.txt").locator(".line.note").count(), 0, "the names of the files are not repeated");

      await command.locator("summary").first().click();
      const opened = async (name, text) => {
        const one = file(command, name);
        await one.locator("summary").click();
        await reads(one, text);
      };
      await opened("new name.txt", /renamed.*It was renamed from old name\.txt/);
      await opened("run.sh", /mode or owner changed.*Its mode was -rw-r--r-- and is -rwxr-xr-x/);
      await opened("blob", /added.*It is no text/);
      await opened(".env", /added.*files of this name hold secrets/);
      assert.doesNotMatch(await command.textContent(), /hidden/);
      await opened("deep/file", /added.*\+1/);
      await fits(page, device, "a conversation with changes on disk");
      await accessible(page, "calls with changes on disk");
      await page.screenshot({ path: `${shots}disk-calls-${device}.png`, fullPage: true });
    }));
}

test("the changes of a whole execution, of a turn, and since a checkpoint", () =>
  visit(browser, server, async (v) => {
    const { id, folder } = await worked();
    await recorded(id);
    const page = await open(v, id);
    const panel = page.locator("details.disk-panel");
    await reads(panel.locator("summary").first(), /^Changes on disk: \d checkpoints$/);
    await panel.locator("summary").first().press("Enter");
    await reads(panel.locator(".disk-folder"), new RegExp(`^\\d files changed in ${folder}`));
    await file(panel, "port.txt").waitFor();
    await file(panel, "new name.txt").waitFor();
    const since = await panel.getByLabel("Show").locator("option").evaluateAll((all) => all.map(({ textContent }) => textContent));
    assert.ok(since.some((text) => /^Checkpoint 2, after edit/.test(text)), since.join("; "));
    await panel.getByLabel("Show").selectOption("from 2");
    await file(panel, "port.txt").waitFor({ state: "detached" });
    await file(panel, "new name.txt").waitFor();
    await panel.getByLabel("Show").selectOption("turn 1");
    await file(panel, "port.txt").waitFor();
    await accessible(page, "the changes of an execution");
    await page.screenshot({ path: `${shots}disk-panel-desktop.png`, fullPage: true });
  }));

test("a live execution has the line of its changes from the beginning, so that nothing moves when the first one comes", () =>
  visit(browser, server, async (v) => {
    const asking = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
    const page = await v.tab();
    for (const [checkpoints, shown] of [["bestEffort", true], ["off", false]]) {
      const { executionId } = await server.question({ prompt: `Look it up. ${asking}`, capabilities: { execute: "ask" }, checkpoints });
      await page.goto(server.link(`/executions/${executionId}`));
      await status(page, "pendingToolApproval");
      assert.equal(await page.getByText("Changes on disk: none so far").isVisible(), shown, checkpoints);
      await server.post(`/executions/${executionId}/cancel`, {});
    }
  }));

test("an external agent's turn has its changes at its end, and they are uncertain", () =>
  visit(browser, server, async (v) => {
    const folder = join(server.workspace, "agent");
    await mkdir(folder);
    const { id } = await server.post("/executions", { source: { type: "acp", command: "scripted" }, workingDirectory: "agent", checkpoints: "bestEffort",
      prompt: `#! file ${join(folder, "theirs.txt")} written by the agent\n#! say Done.` });
    await server.ends(id);
      const page = await v.open(`/executions/${id}`);
    const row = page.locator('article.item[data-kind="changes"]');
    await reads(row, /^Changed on disk in turn 1.*1 file changed\+1 −0.*1 uncertain/);
    await row.locator("summary").first().click();
    await reads(file(row, "theirs.txt"), /uncertain.*Perhaps somebody else has changed it.*written by the agent/);
  }));

test("an execution that can have no checkpoints says why", () =>
  visit(browser, server, async (v) => {
    const { id } = await worked();
    const page = await v.tab();
    const failed = { turn: 1, checkpoint: 0, moment: "turnBegins", status: "unavailable", folders: [], durationMs: 0, error: { code: "checkpointFailed",
      message: "There is no git." } };
    await page.route(`**/executions/${id}/events`, async (route) => {
      const events = [["execution.created", { status: "queued", source: { type: "internal" } }], ["checkpoint.created", failed],
        ["execution.completed", { status: "completed", finishReason: "endTurn" }]];
      const frames = events.map(([type, data], at) => `id: ${at + 1}\nevent: ${type}\ndata: ${JSON.stringify({ seq: at + 1, type, time: "2026-03-02T09:00:00Z", data })}\n\n`);
      await route.fulfill({ contentType: "text/event-stream", body: frames.join("") });
    });
    await page.goto(server.link(`/executions/${id}`));
    await reads(page.locator("article.notice"), /^This execution has no checkpoints.*There is no git\.$/);
    await page.unrouteAll({ behavior: "wait" });
  }));

// ——— taking back, over answers of the test ———

const steps = [{ path: "deep/file", action: "delete", modeBefore: "-rw-r--r--" }, { path: "deep", action: "delete", modeBefore: "drwxr-xr-x" },
  { path: "port.txt", action: "restore", modeBefore: "-rw-r--r--", modeAfter: "-rw-r--r--" },
  { path: "run.sh", action: "mode", modeBefore: "-rwxr-xr-x", modeAfter: "-rw-r--r--" }];
const kept = [{ path: "notes.md", reason: "changedByOthers" }, { path: "whose.txt", reason: "uncertain" },
  { path: "<img src=x onerror=__ran(1)>\u202e", reason: "notCoveredBefore" }];

/** Answers for a server that takes changes back: `answers` are what it says to each request, {status, json} or a function of the request. */
async function answering(page, id, answers) {
  const asked = [];
  const history = [];
  await page.route(`**/executions/${id}/rollbacks`, (route) => route.fulfill({ json: { items: history } }));
  await page.route(`**/executions/${id}/rollback`, async (route) => {
    const body = route.request().postDataJSON();
    asked.push(body);
    const answer = answers.shift();
    await route.fulfill(typeof answer === "function" ? answer(body) : answer);
  });
  return { asked, history };
}

const problem = (code, message, status = 409) => ({ status, contentType: "application/problem+json", body: JSON.stringify({ status, code, title: code, detail: message }) });

const preview = (folder, hash, more = {}) => {
  const of = { path: folder, steps, kept, ...more };
  return { json: { to: 1, hash, folders: [{ ...of, stepCount: of.steps.length, keptCount: of.kept.length }] } };
};

const rollbackOf = (folder, more) => ({
  number: 1, state: "done", to: 1, paths: [], tree: false, by: { keyId: "k", name: "Ann" }, error: null, createdAt: "2026-03-02T09:00:00Z", endedAt: null,
  result: { to: 1, hash: "h2", folders: [{ path: folder, restored: ["port.txt", "whose.txt"], restoredCount: 2, kept: [{ path: "run.sh", reason: "conflict" }, kept[0]],
    keptCount: 2 }] }, ...more,
});

for (const device of Object.keys(devices)) {
  test(`taking back shows first what goes and what stays, and does just that (${device})`, () =>
    visit(browser, server, async (v) => {
      const { id, folder } = await worked();
      await recorded(id);
      const page = await v.tab({ device });
      const chosen = { steps: [steps[2], steps[3], { path: "whose.txt", action: "delete", modeBefore: "-rw-r--r--" }], kept: [] };
      const { asked, history } = await answering(page, id, [preview(folder, "h1"), preview(folder, "h2", chosen),
        () => {
          history.push(rollbackOf(folder));
          return { status: 202, json: rollbackOf(folder, { state: "running", result: null }) };
        }]);
      await page.goto(server.link(`/executions/${id}`));
      const panel = page.locator("details.disk-panel");
      await reads(panel.locator("summary").first(), /3 checkpoints/);
      await panel.locator("summary").first().press("Enter");
      await panel.getByRole("button", { name: "Take all back…" }).press("Enter");
      const dialog = page.getByRole("dialog", { name: "Take changes back" });
      await reads(dialog.getByRole("status"), /^4 files go back\.$/);
      await reads(dialog.locator("li", { hasText: "notes.md" }), /somebody else has changed it since$/);
      assert.equal(await dialog.locator("li", { hasText: "notes.md" }).getByRole("checkbox").count(), 0, "what others have changed cannot be chosen");
      assert.equal(await dialog.getByRole("checkbox", { name: /whose\.txt/ }).isChecked(), false);
      await fits(page, device, "the preview of a rollback");
      await reads(dialog.locator("li", { hasText: "onerror" }), /<img src=x onerror=__ran\(1\)>.*U\+202E.*the checkpoint does not hold it$/);
      await accessible(page, "the preview of a rollback");
      await page.screenshot({ path: `${shots}takeback-preview-${device}.png` });

      await dialog.getByRole("checkbox", { name: /^deep\/file/ }).press("Space");
      await dialog.getByRole("checkbox", { name: /^deep / }).press("Space");
      await dialog.getByRole("checkbox", { name: /whose\.txt/ }).press("Space");
      assert.equal(await dialog.getByRole("button", { name: /^Take back/ }).count(), 0, "a choice that no preview has shown cannot be confirmed");
      await dialog.getByRole("button", { name: "Preview the choice" }).press("Enter");
      await reads(dialog.getByRole("status"), /^3 files go back\.$/);
      assert.equal(await page.evaluate(() => document.activeElement.role), "status", "the focus is on what the preview says, and not yet on what does it");
      await page.screenshot({ path: `${shots}takeback-choice-${device}.png` });
      await dialog.getByRole("button", { name: "Take back 3 files" }).press("Enter");
      await reads(dialog.getByRole("status"), /^2 files went back, 2 files stay as they are\.$/);
      await reads(dialog.locator("li", { hasText: "run.sh" }), /it is other than the newest checkpoint saw it/);
      await dialog.getByText("To undo this").waitFor();
      await accessible(page, "the result of a rollback");
      await page.screenshot({ path: `${shots}takeback-result-${device}.png` });
      assert.deepEqual(asked, [
        { to: 1, dryRun: true },
        { to: 1, paths: [`${folder}/port.txt`, `${folder}/run.sh`, `${folder}/whose.txt`], dryRun: true },
        { to: 1, paths: [`${folder}/port.txt`, `${folder}/run.sh`, `${folder}/whose.txt`], hash: "h2" },
      ]);
      await dialog.getByRole("button", { name: "Close" }).press("Enter");
      await dialog.waitFor({ state: "detached" });
      await reads(panel.getByRole("region", { name: "Taken back" }), /to checkpoint 1 by Ann: done\. 2 files went back, 2 files stay/);
      await page.unrouteAll({ behavior: "wait" });
    }));
}

test("what stands in the way of taking back is said in plain words", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 4(03|09)/);
    const { id, folder } = await worked();
    await recorded(id);
    const page = await v.tab();
    const { asked } = await answering(page, id, [
      problem("busy", "x"), preview(folder, "h1"), problem("previewOutdated", "x"), preview(folder, "h2", { steps: [steps[2]], kept: [] }), problem("busy", "x"),
      problem("checkpointElsewhere", "The checkpoints lie on the machine two."), problem("forbidden", "x", 403),
    ]);
    await page.goto(server.link(`/executions/${id}`));
    await disk(page, 1).locator("summary").first().click();
    const ask = () => disk(page, 1).getByRole("button", { name: "Take back to before this call…" }).click();
    await ask();
    const dialog = page.getByRole("dialog", { name: "Take changes back" });
    await reads(dialog.getByRole("alert"), /^Something runs in the folder.*Nothing was taken back/);
    await dialog.getByRole("button", { name: "Try again" }).click();
    await dialog.getByRole("button", { name: "Take back 4 files" }).click();
    await reads(dialog.locator(".notice"), /^The folders have changed since the preview\. This is a new one\.$/);
    await dialog.getByRole("button", { name: "Take back 1 file", exact: true }).click();
    await reads(dialog.getByRole("alert"), /^Something runs in the folder/);
    assert.deepEqual(asked.map(({ hash }) => hash), [undefined, undefined, "h1", undefined, "h2"]);
    assert.ok(asked.every(({ to }) => to === 2), "the checkpoint before the call");
    await dialog.getByRole("button", { name: "Close" }).click();

    await ask();
    await reads(dialog.getByRole("alert"), /^The checkpoints lie on the machine two\. Nothing was taken back\.$/);
    await dialog.getByRole("button", { name: "Close" }).click();
    await ask();
    await reads(dialog.getByRole("alert"), /^Your token may not take changes back: it lacks the scope workspaces:restore\.$/);
    await accessible(page, "a refusal");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Take back to before this call…", "the focus is where it was");
    await page.unrouteAll({ behavior: "wait" });
  }));

// ——— taking back, for real ———

for (const keepOpen of [true, false]) {
  test(`a real rollback restores the files, and is itself taken back (${keepOpen ? "live" : "ended"})`, () =>
    visit(browser, server, async (v) => {
      const { id, folder } = await worked({ keepOpen });
      await recorded(id);
      await writeFile(join(folder, "mine.txt"), "written by a person\n");
      const page = await open(v, id);
      const panel = page.locator("details.disk-panel");
      const dialog = page.getByRole("dialog", { name: "Take changes back" });
      await panel.locator("summary").first().click();
      await panel.getByRole("button", { name: "Take all back…" }).click();
      await reads(dialog.locator("li", { hasText: "mine.txt" }), /somebody else has changed it since/);
      await page.screenshot({ path: `${shots}takeback-real-${keepOpen ? "live" : "ended"}.png` });
      await dialog.getByRole("button", { name: /^Take back \d+ files$/ }).click();
      await reads(dialog.getByRole("status"), /^\d+ files went back, 1 file stays as it is\.$/);
      assert.equal(await readFile(join(folder, "port.txt"), "utf8"), "host db-1\nport 80\n");
      assert.equal((await stat(join(folder, "run.sh"))).mode & 0o111, 0);
      assert.equal(await readFile(join(folder, "mine.txt"), "utf8"), "written by a person\n");
      await dialog.getByRole("button", { name: "Close" }).click();
      await reads(panel.getByRole("region", { name: "Taken back" }), /to checkpoint 1 by .*: done\. \d+ files went back, 1 file stays/);
      if (keepOpen) await reads(page.locator('article.item[data-kind="rollback"]'), /^Taken back by .* to checkpoint 1/);

      const before = panel.getByLabel("Show").locator("option", { hasText: "before a rollback" }).first();
      await panel.getByLabel("Show").selectOption(await before.getAttribute("value"));
      await panel.getByRole("button", { name: "Take back to this checkpoint…" }).click();
      await dialog.getByRole("button", { name: /^Take back \d+ files$/ }).click();
      await reads(dialog.getByRole("status"), /^\d+ files went back/);
      assert.equal(await readFile(join(folder, "port.txt"), "utf8"), "host db-1\nport 8080\n");
      assert.equal(await readFile(join(folder, "mine.txt"), "utf8"), "written by a person\n");
      await dialog.getByRole("button", { name: "Close" }).click();
      if (!keepOpen) return;
      await server.post(`/executions/${id}/close`);
      await status(page, "completed");
    }));
}

test("a root takes back the changes of its children where the person says so", () =>
  visit(browser, server, async (v) => {
    const folder = join(server.workspace, "tree");
    await mkdir(folder);
    const writes = (path) => (answer, _, step) => (step === 0 ? answer.call("write", { path, content: "x\n" }) : answer.say("Done."));
    const child = model.scene(writes("child.txt"));
    const root = model.scene((answer, talk, step) => {
      if (step === 1) return answer.call("delegate", { profile: "writer", prompt: `Write it. ${child}`, write: true });
      writes("root.txt")(answer, talk, step);
    });
    await server.post("/agent-profiles", { name: "writer", definition: { source: { type: "internal" }, capabilities: { write: "allow" } } });
    const { id } = await server.create({ prompt: `Have it written. ${root}`, workingDirectory: "tree", checkpoints: "required", capabilities: { write: "allow", delegate: "allow" },
      delegation: { ceiling: { capabilities: { write: "allow" } } } });
    await server.ends(id);
    const page = await open(v, id);
    const panel = page.locator("details.disk-panel");
    await panel.locator("summary").first().click();
    await panel.getByRole("button", { name: "Take all back…" }).click();
    const dialog = page.getByRole("dialog", { name: "Take changes back" });
    await reads(dialog.getByRole("status"), /^1 file goes back\.$/);
    await dialog.getByRole("checkbox", { name: "Take back the changes of its children, too" }).check();
    await reads(dialog.getByRole("status"), /^2 files go back\.$/);
    await accessible(page, "the preview of a tree");
    await page.screenshot({ path: `${shots}takeback-tree.png` });
    await dialog.getByRole("button", { name: "Take back 2 files" }).click();
    await reads(dialog.getByRole("status"), /^2 files went back\.$/);
    assert.deepEqual(await readdir(folder), []);
  }));

test("the page says which other executions work in the folder", () =>
  visit(browser, server, async (v) => {
    await mkdir(join(server.workspace, "both"));
    const asking = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
    const asks = () => server.question({ prompt: `Look it up. ${asking}`, workingDirectory: "both", capabilities: { execute: "ask" } });
    const [one, other] = [await asks(), await asks()];
    const page = await v.open(`/executions/${one.executionId}`);
    await page.locator(".origin").getByText("Also at work in this folder").getByRole("link").click();
    await page.waitForURL(`**/#/executions/${other.executionId}`);
    for (const { executionId } of [one, other]) await server.post(`/executions/${executionId}/cancel`, {});
  }));

// ——— the approval ———

test("the card of an approval says whether the call can be taken back", () =>
  visit(browser, server, async (v) => {
    const asking = model.scene((answer, _, step) => (step === 0 ? answer.call("bash", { command: "echo once" }) : answer.say("Done.")));
    const question = await server.question({ prompt: `Look it up. ${asking}`, capabilities: { execute: "ask" } });
    const says = async (reversible, reversibleReason) => {
      const page = await v.tab();
      await page.route(/\/approvals(\?|\/|$)/, async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        const spoil = (one) => ({ ...one, reversible, reversibleReason });
        await route.fulfill({ json: body.items ? { ...body, items: body.items.map(spoil) } : spoil(body) });
      });
      await page.goto(server.link("/inbox"));
      const card = page.locator(`article.approval[data-id="${question.id}"]`);
      await card.getByText("Working directory", { exact: true }).waitFor();
      const found = await card.locator("[data-reversible]").allTextContents();
      await page.unrouteAll({ behavior: "wait" });
      return found;
    };
    assert.deepEqual(await says("yes", null), ["Yes."]);
    assert.deepEqual(await says("partly", "Only files in its folders are recorded."), ["In part. Only files in its folders are recorded."]);
    assert.deepEqual(await says("no", "It runs on the host."), ["No. It runs on the host."]);
    assert.deepEqual(await says(null, null), []);
    await server.post(`/executions/${question.executionId}/cancel`, {});
  }));
