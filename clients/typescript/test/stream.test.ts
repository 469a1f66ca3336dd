import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import type { FeedEvent, FollowOptions, Received, Signoff } from "@signoff/client";
import { Model, type Script } from "./model.js";
import { Proxy, type Cut } from "./proxy.js";
import { random } from "./random.js";
import { Server } from "./server.js";

const chunks = 3000;
const disconnects = 50;

/** Says thousands of pieces, in characters of all lengths, a few in each millisecond. */
const talk: Script = async (answer) => {
  for (let n = 0; n < chunks && !answer.gone; n++) {
    if (n % 10 === 0) answer.think(`thought ${n} 🤔 `);
    answer.say(`piece ${n}: ß€😀 "quoted" \\ \u2028\r\n`);
    if (n % 2 === 0) await sleep(1);
  }
};

let model: Model;
let server: Server;

before(async () => {
  model = await Model.up(talk);
  server = await Server.up(model.url);
});
after(async () => {
  await server?.down();
  await model?.down();
});

/** Small waits, so that fifty of them do not take minutes; what the server suggests is tested with a scripted one. */
const soon: FollowOptions = { backoff: (_, failures) => Math.min(5 * 2 ** failures, 200) };

async function start(client: Signoff): Promise<string> {
  return (await client.createExecution({ source: { type: "internal" }, prompt: "Talk." })).id;
}

async function lines(received: AsyncIterable<Received>): Promise<string> {
  let all = "";
  for await (const { line } of received) all += line + "\n";
  return all;
}

/** The events of an ended execution as they stand between the brackets of its pages, byte for byte. */
async function paged(id: string): Promise<string> {
  let all = "";
  for (let after = "0"; ; ) {
    const response = await fetch(`${server.url}/executions/${id}/events?limit=1000&after=${after}`, {
      headers: { Accept: "application/json", Authorization: `Bearer ${server.token}` },
    });
    const text = await response.text();
    const { items, nextCursor } = JSON.parse(text) as { items: unknown[]; nextCursor: string | null };
    const inner = text.slice(`{"items":[`.length, text.lastIndexOf(`],"nextCursor":`));
    if (items.length > 0) all += inner.replaceAll(`},{"seq":`, `}\n{"seq":`) + "\n";
    if (nextCursor === null) return all;
    after = nextCursor;
  }
}

/** Fifty cuts: most within a few frames, some within the head of the answer, some before anything is said. */
function plan(next: () => number): Cut[] {
  return Array.from({ length: disconnects }, () => ({ after: 1 + Math.floor(4500 * next() ** 2), reset: next() < 0.5 }));
}

const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32));

for (const when of ["live", "afterwards"] as const) {
  test(`${disconnects} disconnects, read ${when}: not a byte is missing (SEED=${seed})`, async (t) => {
    t.diagnostic(`SEED=${seed}`);
    const proxy = await Proxy.up(server.url, plan(random(seed)));
    t.after(() => proxy.down());
    const id = await start(server.client());
    const undisturbed = lines(server.client().received(id));
    if (when === "afterwards") await undisturbed;

    const disturbed = await lines(server.client({ baseUrl: proxy.url }).received(id, soon));

    const whole = await undisturbed;
    const count = whole.split("\n").length - 1;
    t.diagnostic(`${count} events, ${Buffer.byteLength(whole)} bytes, ${proxy.cuts} disconnects`);
    assert.equal(proxy.cuts, disconnects);
    assert.ok(count > 200, `only ${count} events`);
    assert.ok(disturbed === whole, "the disturbed reading differs from the undisturbed one");
    assert.ok(disturbed === (await paged(id)), "the disturbed reading differs from the pages");
  });
}

test("a server that drains, and one that is killed, are read on from where they were", async (t) => {
  const proxy = await Proxy.up(server.url);
  t.after(() => proxy.down());
  const id = await start(server.client());
  const states: string[] = [];
  const options: FollowOptions = { ...soon, onState: (state) => states.push(state) };
  const restarts = { 20: "SIGTERM", 200: "SIGKILL" } as const;
  let all = "";
  let restarted = Promise.resolve(); // one after the other: the second event may be read while the server still drains
  for await (const { event, line } of server.client({ baseUrl: proxy.url }).received(id, options)) {
    all += line + "\n";
    const signal = restarts[event.seq as keyof typeof restarts];
    if (signal === undefined) continue;
    restarted = restarted.then(async () => {
      await server.stop(signal);
      await server.start();
      proxy.target = server.url;
    });
  }
  await restarted;
  assert.equal(states[0], "connecting");
  assert.equal(states.at(-1), "ended");
  assert.ok(states.filter((state) => state === "reconnecting").length >= 2, states.join());
  assert.ok(all === (await paged(id)));
});

test("where everything has been read, there is nothing more", async () => {
  const client = server.client();
  const id = await start(client);
  await client.cancelExecution(id, { reason: "enough" });
  const { lastSeq, status } = await client.getExecution(id, { waitSeconds: 10 });
  assert.equal(status, "cancelled");
  assert.equal(await lines(client.received(id, { after: lastSeq })), "");
  assert.match(await lines(client.received(id, { after: lastSeq - 1 })), /^\{.*"execution.cancelled".*\}\n$/);
});

/** Reads the merged stream until some executions have ended: the lines of each, and the last cursor. */
async function readFeed(feed: AsyncIterable<Received<FeedEvent>>, ids: string[]) {
  const logs = new Map<string, string>();
  const open = new Set(ids);
  let last = "";
  for await (const { event, line, cursor } of feed) {
    // the log of one execution names neither the execution nor its agent
    const own = line.replace(`"executionId":"${event.executionId}",`, "").replace(`"agent":${JSON.stringify(event.agent)},`, "");
    logs.set(event.executionId, (logs.get(event.executionId) ?? "") + own + "\n");
    last = cursor;
    if (/^execution\.(completed|failed|cancelled|timedOut)$/.test(event.type)) open.delete(event.executionId);
    if (open.size === 0) break;
  }
  return { logs, last };
}

test(`the merged stream: ${disconnects} disconnects, and not a byte of any execution is missing (SEED=${seed})`, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const proxy = await Proxy.up(server.url, plan(random(seed + 1)));
  t.after(() => proxy.down());
  const client = server.client();
  const ids = await Promise.all([start(client), start(client), start(client)]);
  const { logs } = await readFeed(server.client({ baseUrl: proxy.url }).feed(soon), ids);
  assert.equal(proxy.cuts, disconnects);
  assert.ok(logs.size > ids.length, "also those of before");
  for (const [id, log] of logs) assert.ok(log === (await paged(id)), `execution ${id} differs from its pages`);
});

test("the merged stream from now on shows what is new, also where its first connections break", async (t) => {
  const cuts = [{ after: 1000, reset: true }, { after: 10, reset: true }, { after: 200, reset: false }];
  const proxy = await Proxy.up(server.url, cuts);
  t.after(() => proxy.down());
  const client = server.client();
  let started!: Promise<string>; // its events may be here before the answer that has its id
  const onState: FollowOptions["onState"] = (state) => {
    if (state === "connecting") started = start(client);
  };
  const seen: string[] = [];
  let after: string | undefined;
  for await (const { event, cursor } of server.client({ baseUrl: proxy.url }).feed({ ...soon, from: "now", onState })) {
    seen.push(`${event.executionId} ${event.seq}`);
    after = cursor;
    if (event.seq === 5) break;
  }
  const id = await started;
  assert.deepEqual(seen, [1, 2, 3, 4, 5].map((seq) => `${id} ${seq}`));
  for await (const { event } of client.feed({ after })) {
    assert.equal(`${event.executionId} ${event.seq}`, `${id} 6`);
    break;
  }
  await client.cancelExecution(id);
});
