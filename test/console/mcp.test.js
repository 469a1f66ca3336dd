// Tools of MCP servers: the registry shows a server, asks it for its tools, and fills in its prompts; a card says whose tool a call is for, what its server claims, and what has changed since
// somebody approved it; and a page that a server wants opened is a link that says its host. The pictures are for people to look at, in test/console/shots.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { accessible } from "./harness/axe.js";
import { card, loaded, reads, shots, visit } from "./harness/browser.js";
import { contentOf } from "./harness/model.js";
import { lower, raise } from "./harness/stage.js";

let server;
let browser;
let scene;
let tickets; // the MCP server
let description = "Closes a ticket for good.";

/** A tenth of a second of silence, as WAV. */
const chime = (() => {
  const [rate, samples] = [8000, 800];
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16); // bytes of the format: PCM, one channel, eight bits
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 0x80)]).toString("base64");
})();

const page = { mode: "url", message: "Sign in at the bank.", url: "https://bank.example/in?x=1", elicitationId: "7" };

/** What the MCP server answers; it speaks the revision 2026-07-28. */
const results = {
  "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { tools: {}, prompts: {} }, resultType: "complete" }),
  "tools/list": () => ({
    resultType: "complete",
    tools: [{ name: "close", description, annotations: { destructiveHint: true }, inputSchema: { type: "object", properties: { ticket: { type: "string" } } } }],
  }),
  "prompts/list": () => ({
    resultType: "complete",
    prompts: [{ name: "triage", title: "Triage", description: "Sorts a ticket.", arguments: [{ name: "ticket", description: "Its number.", required: true }] }],
  }),
  "prompts/get": ({ arguments: { ticket } }) => ({
    resultType: "complete", messages: [{ role: "user", content: { type: "text", text: `Sort the ticket ${ticket}.` } }],
  }),
  "tools/call": ({ arguments: { ticket }, inputResponses }) =>
    ticket === "bank" && inputResponses === undefined
      ? { resultType: "input_required", requestState: "s", inputRequests: { k: { method: "elicitation/create", params: page } } }
      : { resultType: "complete", content: [{ type: "text", text: `${ticket} is closed` }, { type: "audio", mimeType: "audio/wav", data: chime }] },
};

let finish; // lets the slow call end

/** Says how far it is, and ends when the test has seen it. */
async function slowly(response, id, params) {
  const send = (message) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  response.setHeader("Content-Type", "text/event-stream");
  const { progressToken } = params._meta;
  send({ method: "notifications/progress", params: { progressToken, progress: 1, total: 3, message: "closing\u202e" } });
  await new Promise((resolve) => (finish = resolve));
  send({ id, result: results["tools/call"](params) });
  response.end();
}

before(async () => {
  tickets = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = await json(request);
    if (results[method] === undefined) return void response.writeHead(id === undefined ? 202 : 400).end();
    if (params?.arguments?.ticket === "slow" && method === "tools/call") return void slowly(response, id, params);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method](params) }));
  });
  tickets.listen(0, "127.0.0.1");
  await once(tickets, "listening");
  const url = `http://127.0.0.1:${tickets.address().port}/mcp`;
  let model;
  ({ model, server, browser } = await raise({ mcpServers: { tickets: { url }, gone: { url: "http://127.0.0.1:9/mcp", transport: "sse" } } }));
  scene = model.scene((answer, conversation, step) => {
    const says = (text) => conversation.some((message) => JSON.stringify(message).includes(text));
    const ticket = says("at the bank") ? "bank" : says("take your time") ? "slow" : "OPS-7";
    const refused = contentOf(conversation.at(-1)).includes("Nothing was sent"); // a definition that has changed meanwhile
    return step === 0 || refused ? answer.call("mcp__tickets__close", { ticket }) : answer.say("Done.");
  });
});
after(async () => {
  await lower();
  tickets?.closeAllConnections();
  await new Promise((resolve) => tickets?.close(resolve));
});

const question = (prompt = "") => server.question({ prompt: `Go ${scene} ${prompt}`, mcpServers: ["tickets"] });

const picture = async (tab, name) => {
  await mkdir(shots, { recursive: true });
  await tab.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
};

test("the registry asks a server for its tools, and says what is wrong with another", () =>
  visit(browser, server, async (v) => {
    const tab = await v.open("/registry");
    await loaded(tab, "Agents and models");
    const known = tab.locator(".mcp-server", { hasText: "tickets" });
    await known.getByRole("button", { name: /Ask for its tools/ }).click();
    await known.getByText("1 tool", { exact: true }).click();
    assert.match(await reads(known, /available/), /Closes a ticket for good/);
    await known.getByText("says: destructive").waitFor();
    const gone = tab.locator(".mcp-server", { hasText: "gone" });
    await gone.getByRole("button", { name: /Ask for its tools/ }).click();
    assert.match(await reads(gone, /failed/), /deprecated transport.*refuses the connection/s);
    await accessible(tab, "the registry with MCP servers");
    await picture(tab, "mcp-registry");
    await known.getByRole("link", { name: /New execution with this/ }).click();
    await loaded(tab, "New execution");
    assert.equal(await tab.getByLabel("MCP servers", { exact: true }).inputValue(), "tickets");
  }));

test("a prompt of a server opens as a new execution, with the text for a person to change", () =>
  visit(browser, server, async (v) => {
    v.expect(/status of 422/);
    const tab = await v.open("/registry");
    await loaded(tab, "Agents and models");
    const known = tab.locator(".mcp-server", { hasText: "tickets" });
    await known.getByRole("button", { name: /Ask for its tools/ }).click();
    await known.getByText("1 prompt", { exact: true }).click();
    assert.match(await reads(known, /Sorts a ticket/), /triage/);
    const opens = known.getByRole("button", { name: /Open as a new execution/ });
    await opens.click();
    await known.getByText(/missing/).waitFor();
    await known.getByLabel("ticket").fill("OPS-7");
    await accessible(tab, "the registry with a prompt");
    await picture(tab, "mcp-prompt");
    await opens.click();
    await loaded(tab, "New execution");
    assert.equal(await tab.getByLabel("Prompt", { exact: true }).inputValue(), "Sort the ticket OPS-7.");
    assert.equal(await tab.getByLabel("MCP servers", { exact: true }).inputValue(), "tickets");
    await tab.getByText("Filled in from the prompt triage of the MCP server tickets").waitFor();
  }));

test("a card says whose tool it is, and what has changed since somebody approved it", () =>
  visit(browser, server, async (v) => {
    const first = await question();
    const tab = await v.open("/inbox");
    const shown = card(tab, first);
    assert.match(await reads(shown.locator(".mcp-tool"), /Nobody has approved/), /^Tool close of the MCP server tickets/);
    await shown.getByText("says: destructive").waitFor();
    await server.decide(first, { decision: "approve" });
    await server.ends(first.executionId);
    description = "Closes a ticket, and deletes it.";
    const changed = card(tab, await question()); // the server is asked for its tools before anybody is asked about a call
    assert.match(await reads(changed.locator(".mcp-tool"), /has changed/), /Closes a ticket for good\..*Closes a ticket, and deletes it\./s);
    await accessible(tab, "the card of a changed tool");
    await picture(tab, "mcp-changed");
  }));

test("audio of a result is played from memory, and nothing is loaded before", () =>
  visit(browser, server, async (v) => {
    const asked = await question();
    await server.decide(asked, { decision: "approve" });
    await server.ends(asked.executionId);
    const tab = await v.open(`/executions/${asked.executionId}`);
    const play = tab.getByRole("button", { name: "Play audio-1.wav" });
    await play.waitFor();
    assert.equal(await tab.locator("audio").count(), 0);
    await tab.getByRole("button", { name: "Save audio-1.wav" }).waitFor();
    await play.click();
    const player = tab.locator("audio");
    await player.waitFor();
    await tab.waitForFunction(() => document.querySelector("audio").duration > 0);
    assert.equal(await player.evaluate((one) => one.duration), 0.1);
    await accessible(tab, "a card with audio");
    await picture(tab, "mcp-audio");
  }));

test("the card of a running call says how far it is", () =>
  visit(browser, server, async (v) => {
    const asked = await question("take your time");
    await server.decide(asked, { decision: "approve" });
    const tab = await v.open(`/executions/${asked.executionId}`);
    const line = tab.locator(".call-progress");
    assert.match(await reads(line, /closing/), /^33 % · closing/);
    assert.doesNotMatch(await line.textContent(), /\u202e/);
    finish();
    await server.ends(asked.executionId);
    await line.waitFor({ state: "hidden" });
  }));

test("a page that a server wants opened is a link that says its host", () =>
  visit(browser, server, async (v) => {
    const allowed = await question("at the bank");
    await server.decide(allowed, { decision: "approve" });
    const asked = await server.asks(allowed.executionId, 2);
    const tab = await v.open("/inbox");
    const shown = card(tab, asked);
    await reads(shown, /open a page of bank\.example\./);
    assert.equal(await shown.getByRole("link", { name: page.url }).getAttribute("href"), page.url);
    await accessible(tab, "the card of a page");
    await picture(tab, "mcp-page");
    await shown.getByRole("button", { name: "Send answer" }).click();
    const ended = await server.ends(allowed.executionId);
    assert.equal(ended.status, "completed");
    assert.match(JSON.stringify(await server.items(allowed.executionId)), /bank is closed/);
  }));
