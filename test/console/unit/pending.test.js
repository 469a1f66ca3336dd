// What waits: pages, answers that are slow, and a feed that stops. The server is a function here; the rest is the console's own.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible", hasFocus: () => true });
globalThis.window = Object.assign(new EventTarget(), { isSecureContext: false });
const { pending } = await import("../../../internal/console/web/pending.js");
const { executionOf } = await import("../../../internal/console/web/asker.js");

const pageSize = 50;
let all; // approvals of the server, by id
let feed; // writes into the open stream
let refusal; // what the feed is answered instead
let slow; // answers to these paths wait for release()
let asked;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  [all, slow, asked, refusal] = [new Map(), new Map(), [], undefined];
  globalThis.fetch = async (path) => {
    asked.push(path);
    const answer = answerOf(path);
    const held = [...slow].find(([beginning]) => path.startsWith(beginning));
    if (held !== undefined) await held[1];
    return answer;
  };
});
afterEach(() => {
  pending.stop();
  mock.timers.reset();
});

function answerOf(path) {
  if (path.startsWith("/events")) return refusal ?? stream();
  if (path.startsWith("/approvals?")) return Response.json(list());
  const one = all.get(path.split("/").at(-1));
  return one === undefined ? Response.json({ detail: "It is not there." }, { status: 404 }) : Response.json(one);
}

function list() {
  const waiting = [...all.values()].filter(({ status }) => status === "pending");
  return { items: waiting.slice(0, pageSize), nextCursor: waiting.length > pageSize ? "next" : null };
}

function stream() {
  const body = new ReadableStream({ start: (controller) => void (feed = controller) });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

let seq = 0;

function tell(type, data, executionId = `run-${data.approvalId}`) {
  const event = { seq: ++seq, type, executionId, time: "2026-01-01T00:00:00Z", data };
  feed.enqueue(new TextEncoder().encode(`id: ${seq}\ndata: ${JSON.stringify(event)}\n\n`));
}

function add(id) {
  all.set(id, { id, executionId: `run-${id}`, status: "pending", tool: "bash", summary: id });
}

function decide(id) {
  all.set(id, { ...all.get(id), status: "approved", decision: { decidedBy: { name: "Ben" } } });
  tell("approval.resolved", { approvalId: id });
}

function hold(path) {
  let release;
  slow.set(path, new Promise((resolve) => (release = resolve)));
  return () => {
    slow.delete(path);
    release();
  };
}

/** Until all that is under way has come to rest. */
async function rest() {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}

async function started() {
  pending.start();
  await rest();
}

const shown = () => pending.entries().map(({ approval }) => [approval.id, approval.status]);

test("when a whole page is decided the next one comes by itself, and until then nobody says that nothing waits", async () => {
  for (let one = 0; one < 60; one++) add(`a${one}`);
  await started();
  assert.deepEqual(pending.count(), { number: 50, text: "50+" });
  const release = hold("/approvals?");
  for (let one = 0; one < 50; one++) decide(`a${one}`);
  await rest();
  assert.deepEqual(pending.count(), { number: 1, text: "more" });
  release();
  await rest();
  assert.deepEqual(pending.count(), { number: 10, text: "10" });
  assert.equal(pending.hasMore, false);
});

test("a list that was old when it came is asked for again, and not in a loop", async () => {
  for (let one = 0; one < 60; one++) add(`a${one}`);
  await started();
  const release = hold("/approvals?");
  document.dispatchEvent(new Event("visibilitychange"));
  pending.more();
  for (let one = 0; one < 50; one++) decide(`a${one}`);
  await rest();
  release();
  await rest();
  mock.timers.tick(60_000);
  await rest();
  assert.deepEqual(pending.count(), { number: 10, text: "10" });
  assert.ok(asked.filter((path) => path.startsWith("/approvals?")).length < 15);
});

test("an approval that was decided while it was asked for makes no ghost", async () => {
  await started();
  const release = hold("/approvals/a1");
  add("a1");
  tell("approval.requested", { approvalId: "a1" });
  await rest();
  decide("a1");
  await rest();
  release();
  await rest();
  assert.deepEqual(shown(), []);
});

test("nor does one that was decided while the list was on its way, or whose execution ended", async () => {
  for (const id of ["a1", "a2", "a3"]) add(id);
  const release = hold("/approvals?");
  await started();
  decide("a1");
  all.set("a2", { ...all.get("a2"), status: "cancelled" });
  tell("execution.cancelled", { status: "cancelled" }, "run-a2");
  await rest();
  release();
  await rest();
  assert.deepEqual(shown(), [["a3", "pending"]]);
});

test("what is pending after all is shown, although it was told to be over", async () => {
  await started();
  add("a1");
  tell("approval.resolved", { approvalId: "a1" });
  tell("approval.requested", { approvalId: "a1" });
  await rest();
  assert.deepEqual(shown(), [["a1", "pending"]]);
});

for (const [name, answer, words] of [
  ["refused", () => Response.json({ detail: "The key lacks events:read." }, { status: 403 }), "The key lacks events:read."],
  ["in conflict", () => Response.json({ detail: "Too many read it." }, { status: 409 }), "Too many read it."],
  ["ended", () => new Response(null, { status: 204 }), undefined],
]) {
  test(`a feed that is ${name} says why, and the list is asked for all the same`, async () => {
    refusal = answer();
    await started();
    assert.equal(pending.halted?.message, words);
    assert.deepEqual(shown(), []);
    add("a1");
    mock.timers.tick(15_000);
    await rest();
    assert.deepEqual(shown(), [["a1", "pending"]]);
  });
}

test("another token finds nothing of what the one before could see of who asked", async () => {
  await started();
  const about = () => asked.filter((path) => path === "/executions/x").length;
  all.set("x", { id: "x", prompt: "Look." });
  await executionOf("x");
  await executionOf("x");
  assert.equal(about(), 1);
  pending.stop();
  await executionOf("x");
  assert.equal(about(), 2);
});
