// The example page of the TypeScript client, as a person uses it: by its keys alone. What the flow behind them does is tested beside it, without a
// browser; here is which key asks for which request, and what the page shows then.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, visit } from "./harness/browser.js";
import { Server } from "./harness/server.js";

let server;
let browser;
let example; // the process that serves the page
let url;

before(async () => {
  [server, browser] = await Promise.all([Server.up(), launch()]);
  const script = fileURLToPath(new URL("../../clients/typescript/example/serve.mjs", import.meta.url));
  const env = { PATH: process.env.PATH, SIGNOFF_URL: server.url, SIGNOFF_TOKEN: server.token, PORT: "0" };
  example = spawn(process.execPath, [script], { env, stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => example.kill("SIGKILL"));
  const [line] = await once(example.stdout, "data");
  url = /http:\S+/.exec(line.toString())[0];
});
after(async () => {
  example?.kill("SIGKILL");
  await browser?.close();
  await server?.down();
});

/** Opens the page, and gives what a test does with it. */
function opened(work) {
  return visit(browser, { url, token: server.token }, async (v) => {
    const page = await v.tab();
    const sent = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push({ path: new URL(request.url()).pathname.slice("/api".length), body: request.postDataJSON() });
    });
    await page.goto(url);
    await page.locator('body[data-status="idle"]').waitFor();
    await work({
      page,
      sent,
      press: (key) => page.keyboard.press(key),
      type: (text) => page.keyboard.type(text),
      status: (name) => page.locator(`body[data-status="${name}"]`).waitFor(),
      proposed: () => page.locator(".block.proposed pre").allTextContents(),
      typing: () => page.evaluate(() => [document.activeElement.tagName, document.activeElement.value]),
    });
  });
}

const blank = ["TEXTAREA", ""];

test("Ctrl+K opens an empty prompt, Ctrl+Enter generates, E edits, Tab accepts", () =>
  opened(async ({ page, sent, press, type, status, proposed, typing }) => {
    await press("Control+k");
    assert.deepEqual(await typing(), blank);
    await press("Control+Enter"); // an empty prompt asks for nothing
    await press("Meta+k"); // and is not opened twice
    assert.deepEqual(await typing(), blank);
    assert.equal(await page.locator("#blocks textarea").count(), 2);
    assert.deepEqual(sent, []);

    await type("List the disks.");
    await press("Control+Enter");
    await status("postGeneration");
    assert.equal((await proposed()).length, 2);
    const { path, body } = sent.shift();
    assert.equal(path, "/executions");
    assert.deepEqual([body.kind, body.prompt, body.insertAfter], ["inlineBlockGeneration", "List the disks.", "b3"]);
    assert.deepEqual(body.document.blocks.at(-1), { id: "b3", type: "prompt", props: { text: "List the disks." } });

    await press("e");
    await status("editing");
    assert.deepEqual(await typing(), ["INPUT", ""]); // the key that opened the field is not typed into it
    await type("Shorter.");
    await press("Enter");
    await page.locator(".block.proposed pre", { hasText: "Shorter." }).waitFor();
    await status("postGeneration");
    const edit = sent.shift();
    const id = /^\/executions\/([^/]+)\/generation\/edits$/.exec(edit.path)[1];
    assert.deepEqual([edit.body.text, edit.body.generation], ["Shorter.", 1]);

    await press("Tab");
    await status("idle");
    const { path: accepted, body: which } = sent.shift();
    assert.deepEqual([accepted, which.generation], [`/executions/${id}/generation/accept`, 2]);
    assert.deepEqual(sent, []);
    assert.equal(await page.locator(".block:not(.proposed)").count(), 5);
    assert.equal((await server.ends(id)).status, "completed");
  }));

test("Ctrl+Enter in the block that is there asks for the same, and Escape takes the blocks away", () =>
  opened(async ({ page, sent, press, type, status, proposed }) => {
    await page.locator("#blocks textarea").focus();
    await press("Control+Enter");
    await status("postGeneration");
    await press("Escape");
    await status("cancelled");
    assert.deepEqual(await proposed(), []);
    const [block, cancelled] = sent.splice(0);
    const id = /^\/executions\/([^/]+)\/cancel$/.exec(cancelled.path)[1];
    assert.equal((await server.ends(id)).status, "cancelled");

    await press("Control+k");
    await type(block.body.prompt);
    await press("Control+Enter");
    await status("generating");
    await press("Escape"); // while the model is asked
    await status("cancelled");
    const [typed] = sent;
    const { document: of, insertAfter: place, ...same } = block.body;
    const { document: _, insertAfter, ...asked } = typed.body;
    assert.deepEqual([typed.path, asked], [block.path, same], "the same request but for its place");
    assert.deepEqual([place, insertAfter, of.blocks.length], ["b2", "b5", 2]); // b3 and b4 were proposals
  }));

test("An empty prompt changes nothing: Escape removes it, and Tab accepts the blocks that wait", () =>
  opened(async ({ page, sent, press, status, proposed, typing }) => {
    await page.locator("#blocks textarea").focus();
    await press("Control+Enter");
    await status("postGeneration");
    await press("Control+k");
    assert.deepEqual(await typing(), blank);
    await press("Escape");
    assert.equal(await page.locator("#blocks textarea").count(), 1);
    assert.equal((await proposed()).length, 2);
    await press("Control+k");
    await press("Tab");
    await status("idle");
    const [block, accepted] = sent.splice(0);
    assert.equal(block.body.document.revision, accepted.body.documentRevision);
    assert.equal(accepted.path.endsWith("/generation/accept"), true);
    assert.deepEqual(await proposed(), []);
    assert.deepEqual(sent, []);
  }));
