// Pictures and files: a person attaches them to a prompt, with a button, by dropping and by pasting, and sees those of a conversation.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { deflateSync } from "node:zlib";
import { accessible } from "./harness/axe.js";
import { reads, shots, status, until, visit } from "./harness/browser.js";
import { lower, raise, scripted } from "./harness/stage.js";

let server;
let browser;
let model;

before(async () => {
  ({ model, server, browser } = await raise({ agents: { scripted: { ...scripted, args: ["-takes", "image"] } } }));
});
after(lower);

/** A PNG of so many pixels a side; noise cannot be packed, so one of 1450 has some 6.3 MB. */
function png(side, pixels = () => randomBytes(3 * side)) {
  const rows = Buffer.concat(Array.from({ length: side }, (_, y) => Buffer.concat([Buffer.of(0), pixels(y)])));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", deflateSync(rows, { level: 1 })), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(type, content) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(content.length, 0);
  frame.writeUInt32BE(crc(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const table = Array.from({ length: 256 }, (_, n) => Array.from({ length: 8 }).reduce((c) => (c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1), n));
const crc = (bytes) => ~bytes.reduce((c, byte) => table[(c ^ byte) & 255] ^ (c >>> 8), -1) >>> 0;

const gauge = (side) => png(side, (y) => Buffer.alloc(3 * side, y % 16 < 8 ? "\x20\x80\xf0" : "\xf0\xc0\x20", "latin1"));
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A scene that remembers the pictures that the model was sent. */
function looking(seen, more = () => {}) {
  return model.scene((answer, messages, step) => {
    const urls = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).flatMap((part) => part.image_url?.url ?? []);
    seen.splice(0, Infinity, ...urls.map((url) => hash(Buffer.from(url.split(",")[1], "base64"))));
    if (more(answer, step) !== true) answer.say("I see.");
  });
}

const attached = (page) => page.getByRole("list", { name: "Attached files" }).getByRole("listitem");
const shown = (page, name) => page.locator(".files").getByRole("img", { name });
const isDrawn = (locator) => locator.evaluate((image) => image.decode().then(() => image.naturalWidth));

/** Gives files to an element as a drop, or as the clipboard does. */
function hand(locator, event, files) {
  return locator.evaluate((element, { event, files }) => {
    const carried = new DataTransfer();
    for (const { name, type, base64 } of files) {
      carried.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name, { type }));
    }
    const more = { bubbles: true, cancelable: true };
    const made = event === "paste" ? new ClipboardEvent("paste", { ...more, clipboardData: carried }) : new DragEvent("drop", { ...more, dataTransfer: carried });
    return !element.dispatchEvent(made); // whether the page took it
  }, { event, files: files.map(({ name, type, bytes }) => ({ name, type, base64: bytes.toString("base64") })) });
}

test("a photo of 6 MB is attached on a phone, reaches the model, and is shown, also after the server was killed", () =>
  visit(browser, server, async (v) => {
    const photo = png(1450);
    assert.ok(photo.length > 6e6 && photo.length < 7e6, `${photo.length} bytes`);
    const seen = [];
    const page = await v.open("/new", { device: "phone" });
    await page.getByLabel("Prompt", { exact: true }).fill(`What is this? ${looking(seen)}`);
    await page.getByLabel("Keep it open for further prompts").check();
    await page.locator('input[type="file"]').setInputFiles([
      { name: "photo.png", mimeType: "image/png", buffer: photo },
      { name: "disks.csv", mimeType: "text/csv", buffer: Buffer.from("host,used\ndb1,91%\n") },
    ]);
    await reads(attached(page).first(), /photo\.png.*6\.\d MB.*sent/);
    await reads(attached(page).last(), /sent/);
    await accessible(page, "the form with files");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await status(page, "idle");
    assert.deepEqual(seen, [hash(photo)]);
    assert.equal(await isDrawn(shown(page, "photo.png")), 1450);
    await mkdir(shots, { recursive: true });
    await page.screenshot({ path: `${shots}files-phone.png`, fullPage: true });
    await accessible(page, "the conversation with files");

    v.expect(/ERR_|status of 50|request failed/);
    await server.kill();
    await server.start();
    const again = await v.open(new URL(page.url()).hash.slice(1), { device: "phone" });
    assert.equal(await isDrawn(shown(again, "photo.png")), 1450);
    await again.locator(".files .picture").first().click();
    await again.locator('.files .picture.large[aria-expanded="true"]').waitFor();
    const [saved] = await Promise.all([again.waitForEvent("download"), again.getByRole("button", { name: "Save disks.csv" }).click()]);
    assert.equal(saved.suggestedFilename(), "disks.csv");
    const width = await again.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(width, 0, "a large picture scrolls the page sideways");
  }));

test("a further prompt takes files that are dropped and pasted, and forgets them when it is sent", () =>
  visit(browser, server, async (v) => {
    const seen = [];
    const scene = looking(seen);
    const { id } = await server.create({ prompt: `Begin ${scene}`, keepOpen: true });
    const page = await v.open(`/executions/${id}`);
    await status(page, "idle");
    const [one, two] = [gauge(64), gauge(96)];
    const text = page.getByLabel("Follow-up");
    assert.ok(await hand(text, "drop", [{ name: "one.png", type: "image/png", bytes: one }]));
    assert.ok(await hand(text, "paste", [{ name: "two.png", type: "image/png", bytes: two }]));
    await reads(attached(page).nth(1), /two\.png.*sent/);
    await reads(attached(page).nth(0), /one\.png.*sent/);
    await attached(page).nth(0).getByRole("button", { name: "Remove one.png" }).press("Enter");
    assert.equal(await attached(page).count(), 1);
    await page.getByRole("button", { name: "Send" }).click();
    assert.equal(await isDrawn(shown(page, "two.png")), 96);
    await until(page, () => document.querySelectorAll(".attachments li").length === 0);
    await until(page, () => document.querySelectorAll('[data-kind="message"]').length >= 4);
    assert.deepEqual(seen, [hash(two)]);
  }));

test("a file that is attached while a prompt is sent stays for the next one", () =>
  visit(browser, server, async (v) => {
    const { id } = await server.create({ prompt: `Begin ${looking([])}`, keepOpen: true });
    const page = await v.open(`/executions/${id}`);
    await status(page, "idle");
    const files = page.locator('input[type="file"]');
    await files.setInputFiles([{ name: "first.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n") }]);
    await reads(attached(page), /first\.csv.*sent/);
    let goOn;
    const held = new Promise((resolve) => (goOn = resolve));
    await page.route("**/prompts", (route) => held.then(() => route.continue()));
    await Promise.all([page.waitForRequest("**/prompts"), page.getByRole("button", { name: "Send" }).click()]);
    await files.setInputFiles([{ name: "second.csv", mimeType: "text/csv", buffer: Buffer.from("c,d\n") }]);
    await reads(attached(page).nth(1), /second\.csv.*sent/);
    goOn();
    await page.getByRole("button", { name: "Save first.csv" }).waitFor();
    await until(page, () => document.querySelectorAll(".attachments li").length === 1);
    await reads(attached(page), /second\.csv/);
  }));

test("what is not taken says why, and nothing is sent with it", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 4(15|22)/);
    const page = await v.open("/new");
    await page.getByLabel("Prompt", { exact: true }).fill("What is this?");
    const files = page.locator('input[type="file"]');
    await files.setInputFiles([
      { name: "drawing.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg onload='__ran(1)'/>") },
      { name: "program", mimeType: "application/octet-stream", buffer: Buffer.from("\x7fELF\0") },
      { name: "large.png", mimeType: "image/png", buffer: Buffer.alloc(20_000_001) },
    ]);
    await reads(attached(page).nth(0), /SVG is not taken, because it can hold a program/);
    await reads(attached(page).nth(1), /none of the kinds that are taken: PNG, JPEG, GIF, WebP, PDF and text in UTF-8/);
    await reads(attached(page).nth(2), /It has 20\.0 MB; a file has at most 20 MB/);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await reads(page.locator(".field-files > .error"), /Remove the files that were not taken/);
    for (const name of ["drawing.svg", "program", "large.png"]) await page.getByRole("button", { name: `Remove ${name}` }).click();
    await files.setInputFiles([{ name: "gauge.png", mimeType: "image/png", buffer: gauge(32) }]);
    await reads(attached(page).first(), /sent/);
    await page.getByLabel("Model", { exact: true }).selectOption("demo");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await reads(page.locator(".field-files > .error"), /The model demo is not sent files of the type image\/png/);
    await page.reload();
    await reads(attached(page).first(), /gauge\.png/); // the draft keeps them
  }));

test("pictures that a tool reads and that an agent draws are shown with their calls", () =>
  visit(browser, server, async (v) => {
    await writeFile(join(server.workspace, "plot.png"), gauge(48));
    const seen = [];
    const scene = looking(seen, (answer, step) => step === 0 && (answer.call("read", { path: "plot.png" }), true));
    const { id } = await server.create({ prompt: `Look ${scene}` });
    const page = await v.open(`/executions/${id}`);
    await status(page, "completed");
    assert.deepEqual(seen, [hash(gauge(48))]);
    assert.equal(await isDrawn(shown(page.locator('[data-kind="tool"]'), "plot.png")), 48);

    const drawn = { type: "content", content: { type: "image", mimeType: "image/png", uri: "file:///drawn.png", data: gauge(40).toString("base64") } };
    const update = { sessionUpdate: "tool_call", toolCallId: "c1", title: "Draw", kind: "other", status: "completed", content: [drawn] };
    const theirs = await server.post("/executions", { source: { type: "acp", command: "scripted" }, prompt: `#! raw ${JSON.stringify(update)}\n#! say Drawn.` });
    const other = await v.open(`/executions/${theirs.id}`);
    await status(other, "completed");
    assert.equal(await isDrawn(shown(other.locator('[data-kind="tool"]'), "drawn.png")), 40);
  }));
