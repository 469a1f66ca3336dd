import assert from "node:assert/strict";
import { test } from "node:test";
import { Signoff, SignoffError, StreamError, type Event, type FollowOptions, type StreamState } from "@signoff/client";

/** What a server says on one connection, in pieces; `hang` keeps the connection open, `cut` breaks it; a function is called. */
type Piece = string | typeof hang | typeof cut | (() => void);
const hang = Symbol("hang");
const cut = Symbol("cut");

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  pieces?: Piece[];
}

const id = "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11";

function line(seq: number, type = "message.delta", executionId?: string): string {
  return JSON.stringify({ seq, type, time: "2026-07-01T08:00:00.000000Z", executionId, data: {} });
}

const event = (seq: number, type?: string) => `id: ${seq}\ndata: ${line(seq, type)}\n\n`;
const synced = `event: stream.synced\ndata: {"type":"stream.synced"}\n\n`;
const end = (seq: number) => event(seq, "execution.completed");
const problem = (status: number, code: string, headers = {}): Answer => ({
  status,
  headers: { "Content-Type": "application/problem+json", ...headers },
  pieces: [JSON.stringify({ title: code, status, code, detail: "No.", requestId: "r" })],
});

/** A server that plays its answers in order, and what it was asked. */
function script(...answers: Answer[]) {
  const cursors: (string | null)[] = [];
  const signals: AbortSignal[] = [];
  const play: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    assert.doesNotMatch(request.url, /secret/, "a token in a URL");
    assert.equal(request.headers.get("Authorization"), "Bearer secret");
    cursors.push(request.headers.get("Last-Event-ID"));
    signals.push(request.signal);
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError("fetch failed");
    const { status = 200, headers = { "Content-Type": "text/event-stream" } } = answer;
    return new Response(status === 204 ? null : body(answer.pieces ?? [], request.signal), { status, headers });
  };
  const client = new Signoff({ baseUrl: "http://server.test/", token: () => "secret", fetch: play });
  return { client, cursors, signals };
}

function body(pieces: Piece[], signal: AbortSignal): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return new ReadableStream({
    start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)),
    pull(controller) {
      const piece = left.shift();
      if (piece === undefined) controller.close();
      else if (piece === cut) controller.error(new TypeError("terminated"));
      else if (piece === hang) return new Promise(() => {});
      else if (typeof piece === "string") controller.enqueue(new TextEncoder().encode(piece));
      else {
        piece();
        controller.enqueue(new Uint8Array());
      }
      return undefined;
    },
  });
}

const atOnce = { backoff: () => 0 };

async function collect(events: AsyncIterable<Event>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of events) seqs.push(seq);
  return seqs;
}

/** Reads until an error comes. */
async function failure(events: AsyncIterable<Event>): Promise<unknown> {
  return collect(events).then(
    (seqs) => assert.fail(`no error, but the events ${seqs}`),
    (error: unknown) => error,
  );
}

test("a stream is read to its terminal event, and no further", async () => {
  const { client, cursors, signals } = script({ pieces: [event(1) + event(2), end(3), event(4), hang] });
  assert.deepEqual(await collect(client.events(id)), [1, 2, 3]);
  assert.deepEqual(cursors, [null]);
  assert.equal(signals[0]?.aborted, true, "the connection is closed");
});

test("a connection that breaks is replaced, from the last whole event", async () => {
  const { client, cursors } = script(
    { pieces: [event(1), event(2).slice(0, -1), cut] },
    { pieces: [event(2) + "id: 3\nda", cut] },
    { pieces: [] },
    { pieces: [event(3), end(4)] },
  );
  assert.deepEqual(await collect(client.events(id, atOnce)), [1, 2, 3, 4]);
  assert.deepEqual(cursors, [null, "1", "2", "2"]);
});

test("what comes twice is passed over", async () => {
  const { client } = script({ pieces: [event(1), event(1), event(2), cut] }, { pieces: [event(1) + event(2) + end(3)] });
  assert.deepEqual(await collect(client.events(id, atOnce)), [1, 2, 3]);
});

test("a hole is an error, at the beginning, in the middle and after a reconnection", async () => {
  for (const [after, ...answers] of [
    [0, { pieces: [event(2)] }],
    [0, { pieces: [event(1), event(3)] }],
    [5, { pieces: [event(7)] }],
    [0, { pieces: [event(1), cut] }, { pieces: [event(3)] }],
  ] as [number, ...Answer[]][]) {
    const { client } = script(...answers);
    const error = await failure(client.events(id, { ...atOnce, after }));
    assert.ok(error instanceof StreamError && error.code === "hole", String(error));
  }
});

test("frames that are no events are errors", async () => {
  for (const data of ["{", "null", "[]", '"x"', "{}", line(1).replace("1", "1.5"), line(1).replace('"seq":1', '"seq":"1"'), line(2)]) {
    const { client } = script({ pieces: [`id: 1\ndata: ${data}\n\n`] });
    const error = await failure(client.events(id, atOnce));
    assert.ok(error instanceof StreamError && error.code === "malformed", `${data}: ${error}`);
  }
});

test("marks without an id move no cursor, and unknown types are passed on", async () => {
  const { client, cursors } = script(
    { pieces: [event(1, "something.new"), `event: mark\ndata: what\n\n`, synced, cut] },
    { pieces: [synced, end(2)] },
  );
  let marks = 0;
  assert.deepEqual(await collect(client.events(id, { ...atOnce, onSynced: () => marks++ })), [1, 2]);
  assert.deepEqual(cursors, [null, "1"]);
  assert.equal(marks, 2);
});

test("204 is the end", async () => {
  const { client, cursors } = script({ status: 204 });
  assert.deepEqual(await collect(client.events(id, { after: 7 })), []);
  assert.deepEqual(cursors, ["7"]);
});

test("states are told", async () => {
  const states: [StreamState, number?, boolean?][] = [];
  const onState: FollowOptions["onState"] = (state, broken) =>
    states.push(broken === undefined ? [state] : [state, broken.failures, broken.error !== undefined]);
  const { client } = script({ pieces: [event(1), cut] }, problem(503, "unavailable"), { pieces: [": bye\n\n"] }, { pieces: [end(2)] });
  await collect(client.events(id, { ...atOnce, onState }));
  assert.deepEqual(states, [
    ["connecting"],
    ["live"],
    ["reconnecting", 0, true],
    ["reconnecting", 1, true],
    ["live"],
    ["reconnecting", 2, false],
    ["live"],
    ["ended"],
  ]);
});

test("the server's word on when to come back counts, for that pause", async () => {
  const suggested: (number | undefined)[] = [];
  const backoff = (ms: number | undefined) => suggested.push(ms) * 0;
  const { client } = script(
    { pieces: ["retry: 2345\n\n", event(1), cut] },
    problem(503, "unavailable", { "Retry-After": "7" }),
    problem(503, "unavailable"),
    { pieces: ["retry: 2000\n\n", event(2), "retry: 2500\n\n: the server is stopping, reconnect in a moment\n\n"] },
    { pieces: [end(3)] },
  );
  assert.deepEqual(await collect(client.events(id, { backoff })), [1, 2, 3]);
  assert.deepEqual(suggested, [2345, 7000, undefined, 2500]);
});

test("what the server refuses for good is thrown", async () => {
  for (const [status, code] of [[401, "unauthenticated"], [403, "forbidden"], [404, "notFound"], [409, "cursorBeyondHead"]] as const) {
    const { client } = script({ pieces: [event(1), cut] }, problem(status, code));
    const error = await failure(client.events(id, atOnce));
    assert.ok(error instanceof SignoffError && error.status === status && error.code === code && error.requestId === "r", String(error));
  }
});

test("an answer that is no stream is an error", async () => {
  const { client } = script({ headers: { "Content-Type": "text/html" }, pieces: ["<title>Sign in</title>"] });
  const error = await failure(client.events(id));
  assert.ok(error instanceof StreamError && error.code === "notAStream", String(error));
});

test("a server that is not there is given up after maxFailures, or never", async () => {
  const { client, cursors } = script({ pieces: [event(1), cut] });
  const error = await failure(client.events(id, { ...atOnce, maxFailures: 3 }));
  assert.ok(error instanceof SignoffError && error.code === "unreachable" && error.status === 0, String(error));
  assert.equal(cursors.length, 1 + 3);
});

test("a connection that falls silent is replaced", async () => {
  const { client, signals } = script({ pieces: [event(1), hang] }, { pieces: [end(2)] });
  const errors: unknown[] = [];
  const onState: FollowOptions["onState"] = (_, broken) => broken && errors.push(broken.error);
  assert.deepEqual(await collect(client.events(id, { ...atOnce, silence: 20, onState })), [1, 2]);
  assert.match(String(errors), /Nothing came for 20 ms/);
  assert.equal(signals[0]?.aborted, true);
});

test("heartbeats are signs of life", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const later = () => t.mock.timers.tick(30_000);
  const beats = Array.from({ length: 20 }, () => [": heartbeat\n\n", later]).flat();
  const { client, cursors } = script({ pieces: [event(1), ...beats, end(2)] });
  assert.deepEqual(await collect(client.events(id)), [1, 2]);
  assert.equal(cursors.length, 1);
});

test("the signal ends the iteration: before it begins, in it, and in a pause", async () => {
  const why = new Error("enough");
  const gone = script();
  assert.equal(await failure(gone.client.events(id, { signal: AbortSignal.abort(why) })), why);

  const live = script({ pieces: [event(1), hang] });
  const first = new AbortController();
  const states: StreamState[] = [];
  const following = failure(live.client.events(id, { signal: first.signal, onState: (state) => states.push(state) }));
  setTimeout(() => first.abort(why), 5);
  assert.equal(await following, why);
  assert.equal(states.at(-1), "ended");

  const waiting = script();
  const second = new AbortController();
  const pausing = failure(waiting.client.events(id, { signal: second.signal, backoff: () => 1 << 30 }));
  setTimeout(() => second.abort(why), 5);
  assert.equal(await pausing, why);
});

test("after the signal nothing comes, not even what is there already", async () => {
  const { client } = script({ pieces: [event(1) + event(2) + event(3), hang] });
  const controller = new AbortController();
  const seqs: number[] = [];
  await assert.rejects(async () => {
    for await (const { seq } of client.events(id, { signal: controller.signal })) if (seqs.push(seq) === 2) controller.abort();
  });
  assert.deepEqual(seqs, [1, 2]);
});

test("who leaves the loop closes the connection", async () => {
  const { client, signals } = script({ pieces: [event(1), event(2), hang] });
  for await (const { seq } of client.events(id)) if (seq === 1) break;
  assert.equal(signals[0]?.aborted, true);
});

test("a callback that throws is heard", async () => {
  const { client } = script({ pieces: [synced, end(1)] });
  const why = new Error("a bug of the page");
  const onSynced = () => {
    throw why;
  };
  assert.equal(await failure(client.events(id, { ...atOnce, onSynced })), why);
});

test("a merged stream is checked for each execution alone", async () => {
  const feed = (cursor: string, seq: number, executionId: string) => `id: ${cursor}\ndata: ${line(seq, "message.delta", executionId)}\n\n`;
  const { client, cursors } = script(
    { pieces: [feed("x", 4, "a"), feed("y", 1, "b"), feed("z", 5, "a"), feed("zz", 5, "a"), cut] },
    { pieces: [feed("z", 5, "a"), feed("q", 2, "b"), feed("r", 7, "a")] },
  );
  const seen: string[] = [];
  const error = await failure(
    (async function* () {
      for await (const { cursor, event } of client.feed({ ...atOnce, after: "w" })) {
        seen.push(`${cursor} ${event.executionId}${event.seq}`);
        yield event;
      }
    })(),
  );
  assert.deepEqual(seen, ["x a4", "y b1", "z a5", "q b2"]);
  assert.ok(error instanceof StreamError && error.code === "hole", String(error));
  assert.deepEqual(cursors, ["w", "z"]);
});

test("an event of a merged stream says whose it is", async () => {
  const { client } = script({ pieces: [`id: x\ndata: ${line(1)}\n\n`] });
  const feed = client.feed({ ...atOnce, after: "w" });
  await assert.rejects(feed.next(), (error) => error instanceof StreamError && error.code === "malformed");
});

test("ids do not leave their place in the path", async () => {
  const asked: string[] = [];
  const client = new Signoff({
    baseUrl: "http://server.test",
    fetch: async (input) => {
      asked.push(String(input));
      return Response.json({});
    },
  });
  await client.getExecution("../approvals?x=#y");
  assert.deepEqual(asked, ["http://server.test/executions/..%2Fapprovals%3Fx%3D%23y"]);
  for (const none of ["", ".", ".."]) assert.throws(() => client.getExecution(none), TypeError);
});
