import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SignoffError, Signoff, type Event } from "@signoff/client";
import { Server } from "./server.js";

let server: Server;
let client: Signoff;

before(async () => {
  server = await Server.up();
  client = server.client();
});
after(() => server?.down());

const source = { type: "internal" } as const;

async function refused(call: Promise<unknown>): Promise<SignoffError> {
  const error = await call.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof SignoffError, String(error));
  return error;
}

/** Follows until an approval is asked for. */
async function asked(id: string): Promise<Extract<Event, { type: "approval.requested" }>> {
  for await (const event of client.events(id)) if (event.type === "approval.requested") return event;
  throw new Error("nothing was asked");
}

test("an approval is found in the inbox, decided once, and the execution goes on to its end", async () => {
  const { id, status } = await client.createExecution({ source, prompt: "Look at this machine." });
  assert.equal(status, "queued");
  const { data } = await asked(id);
  const inbox = await client.listApprovals();
  const approval = inbox.items.find((one) => one.id === data.approvalId);
  assert.deepEqual(approval, await client.getApproval(data.approvalId));
  assert.ok(approval);
  assert.deepEqual((await client.executionApprovals(id)).items, [approval]);

  const denied = await client.decide(approval.id, { decision: "deny", reason: "Not today." });
  assert.equal(denied.status, "denied");
  assert.deepEqual(await client.decide(approval.id, { decision: "deny", reason: "Not today." }), denied);
  const late = await refused(client.decide(approval.id, { decision: "approve", argumentsHash: approval.argumentsHash }));
  assert.equal(late.status, 409);
  assert.equal(late.code, "alreadyDecided");
  assert.equal(late.approval?.decision?.reason, "Not today.");

  const ended = await client.getExecution(id, { waitSeconds: 30 });
  assert.equal(ended.status, "completed");
  const types: string[] = [];
  for await (const event of client.events(id)) types.push(event.type);
  assert.equal(types.at(-1), "execution.completed");
  assert.equal(types.length, ended.lastSeq);
  const page = await client.eventPage(id, { after: 1, limit: 2 });
  assert.deepEqual([page.items.map((event) => event.seq), page.nextCursor], [[2, 3], "3"]);
});

test("checkpoints tell what has changed on disk", async () => {
  const { id } = await client.createExecution({ source, prompt: "Look at this machine.", checkpoints: "required", capabilities: { execute: "deny" } });
  await client.getExecution(id, { waitSeconds: 30 });
  const { mode, unavailable, items, nextCursor } = await client.checkpoints(id, { limit: 10 });
  assert.deepEqual([mode, unavailable, nextCursor], ["required", null, null]);
  assert.deepEqual([items[0]?.checkpoint.checkpoint, items[0]?.checkpoint.status], [1, "taken"]);
  const { from, to, folders } = await client.diff(id, { from: 1 });
  assert.deepEqual([from, to, folders.length, folders[0]?.changedPaths], [1, 1, 1, 0]);
  assert.equal((await refused(client.diff(id, { turn: 1, to: 2 }))).status, 422);
  const { hash, folders: previewed } = await client.previewRollback(id, 1, { tree: true });
  assert.deepEqual([previewed[0]?.stepCount, previewed[0]?.keptCount], [0, 0]);
  const { state, tree } = await client.rollBack(id, 1, hash, { tree: true });
  assert.deepEqual([state, tree], ["done", true]);
  assert.equal((await refused(client.rollBack(id, 1, "0".repeat(64)))).code, "previewOutdated");
  assert.deepEqual((await client.rollbacks(id)).map((one) => one.state), ["done", "failed"]);
  assert.equal((await refused(client.previewFetch(id))).code, "conflict");
  assert.equal((await refused(client.fetchWorkspace(id, hash))).code, "conflict");
});

test("files go into prompts, and come back byte for byte", async () => {
  const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0xff]);
  const photo = await client.upload(bytes, { name: "gauge.png" });
  assert.deepEqual([photo.name, photo.mediaType, photo.size], ["gauge.png", "image/png", 10]);
  const text = await client.upload(new Blob(["a,b\n"]), { name: "a.csv" });
  const unseen = await refused(client.createExecution({ source, prompt: [{ type: "image", fileId: photo.id }] }));
  assert.equal(unseen.errors[0]?.pointer, "/prompt/0"); // the model of the demo is sent no pictures
  const { id, parts, prompt } = await client.createExecution({
    source, prompt: [{ type: "text", text: "Look." }, { type: "file", fileId: text.id, name: "b.csv" }], capabilities: { execute: "deny" },
  });
  assert.deepEqual([prompt, parts?.length], ["Look.", 2]);
  const read = await client.file(id, text.id);
  assert.deepEqual([await read.text(), read.type.replace(" ", "")], ["a,b\n", "text/csv;charset=utf-8"]);
  assert.equal((await refused(client.file(id, photo.id))).status, 404);
  assert.equal((await refused(client.file(id, "file_none"))).status, 404);
  assert.equal((await refused(client.upload(new Blob(["<svg/>"])))).code, "unsupportedMedia");
});

test("a conversation goes on by prompts until it is closed", async () => {
  const { id } = await client.createExecution({ source, prompt: "Hello.", keepOpen: true, capabilities: { execute: "deny" } });
  const seen: string[] = [];
  for await (const event of client.events(id)) {
    seen.push(event.type);
    if (event.type !== "execution.stateChanged" || event.data.to !== "idle") continue;
    if (seen.filter((type) => type === "turn.ended").length === 1) {
      const made = await client.prompt(id, { prompt: "And now?" }, { idempotencyKey: "second" });
      assert.deepEqual(await client.prompt(id, { prompt: "And now?" }, { idempotencyKey: "second" }), made);
    } else {
      await client.closeExecution(id);
    }
  }
  assert.equal(seen.filter((type) => type === "turn.started").length, 2);
  assert.equal((await client.getExecution(id)).status, "completed");
  const late = await refused(client.prompt(id, { prompt: "One more." }));
  assert.equal(late.code, "executionEnded");
  assert.equal(late.execution?.id, id);
  await client.deleteExecution(id);
  assert.equal((await refused(client.getExecution(id))).code, "notFound");
});

test("a key of one's own makes one thing; without one each call makes another", async () => {
  const body = { source, prompt: "Hello.", capabilities: { execute: "deny" } } as const;
  const first = await client.createExecution(body, { idempotencyKey: "reload" });
  assert.equal((await client.createExecution(body, { idempotencyKey: "reload" })).id, first.id);
  assert.notEqual((await client.createExecution(body)).id, (await client.createExecution(body)).id);
  const ended = await client.createExecution(body, { waitSeconds: 30 });
  assert.equal(ended.status, "completed");
  const { items } = await client.listExecutions({ status: ["completed", "failed"], limit: 1 });
  assert.equal(items.length, 1);
});

test("an answer that was lost is asked for again, and nothing is made twice", async () => {
  const keys: (string | null)[] = [];
  const lossy = server.client({
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      keys.push(new Headers(init?.headers).get("Idempotency-Key"));
      if (keys.length === 1) throw new TypeError("fetch failed"); // the server has done it; nobody heard
      return response;
    },
  });
  const metadata = { test: "lost" };
  const { id } = await lossy.createExecution({ source, prompt: "Hello.", metadata });
  assert.equal(keys.length, 2);
  assert.ok(keys[0] && keys[0] === keys[1]);
  const same = (await client.listExecutions({ limit: 200 })).items.filter((one) => one.metadata["test"] === "lost");
  assert.deepEqual(same.map((one) => one.id), [id]);
  assert.equal((await client.cancelExecution(id, { waitSeconds: 60 })).status, "cancelled");
});

test("problems have their fields", async () => {
  const invalid = await refused(client.createExecution({ source, prompt: " ", maxIterations: 0 }));
  assert.equal(invalid.status, 422);
  assert.equal(invalid.code, "invalid");
  assert.deepEqual(invalid.errors.map((error) => error.pointer).sort(), ["/maxIterations", "/prompt"]);
  assert.ok(invalid.requestId);
  assert.ok(invalid.message.includes(invalid.detail));

  const stranger = await refused(server.client({ token: "wrong" }).listExecutions());
  assert.deepEqual([stranger.status, stranger.code], [401, "unauthenticated"]);
  const nobody = new Signoff({ baseUrl: "http://127.0.0.1:1", retries: 0 });
  const unreachable = await refused(nobody.listApprovals());
  assert.deepEqual([unreachable.status, unreachable.code, unreachable.temporary], [0, "unreachable", true]);
  assert.ok(unreachable.cause);
});

test("an answer that is none of Signoff's is told as such, and a busy server is asked again", async () => {
  const answers = [
    new Response("<h1>Bad gateway</h1>", { status: 502 }),
    new Response(null, { status: 503, headers: { "Retry-After": "0" } }),
    new Response("<h1>Sign in</h1>"),
  ];
  const behind = new Signoff({ baseUrl: "http://server.test", fetch: async () => answers.shift()! });
  const error = await refused(behind.listApprovals());
  assert.deepEqual([error.status, error.code, answers.length], [200, "notAProblem", 0]);
});

test("a call ends with its signal", async () => {
  const { id } = await client.createExecution({ source, prompt: "Look at this machine." });
  const why = new Error("enough");
  const controller = new AbortController();
  const waiting = client.getExecution(id, { waitSeconds: 60, signal: controller.signal });
  setTimeout(() => controller.abort(why), 20);
  await assert.rejects(waiting, (error) => error === why);
  await client.cancelExecution(id);
});

test("an environment is chosen by its name, and narrowed", async () => {
  const workspace = (await client.environments()).find((one) => one.name === "workspace");
  assert.deepEqual([workspace?.default, workspace?.risk], [true, "workspace"]);
  const { environment } = await client.createExecution({ source, prompt: "Hello.", environment: { name: "workspace", readOnly: true } });
  assert.deepEqual([environment?.name, environment?.readOnly], ["workspace", true]);
  assert.notEqual(environment?.digest, workspace?.digest, "the digest covers what is left out");
  const unknown = await refused(client.createExecution({ source, prompt: "Hello.", environment: "other" }));
  assert.deepEqual([unknown.status, unknown.errors[0]?.pointer], [422, "/environment"]);
  assert.match(unknown.errors[0]!.message, /machine, workspace/);
});

test("a prompt of an MCP server becomes the messages of a request", async () => {
  assert.equal((await refused(client.mcpServer("none"))).status, 404);
  assert.equal((await refused(client.renderMcpPrompt("none", "review"))).status, 404);
  const messages = [{ role: "user" as const, content: "Review a/b." }];
  const asked: [string, unknown][] = [];
  const behind = new Signoff({
    baseUrl: "http://server.test",
    fetch: async (input, init) => {
      asked.push([String(input), JSON.parse(String(init?.body))]);
      return Response.json({ description: "", messages });
    },
  });
  const rendered = await behind.renderMcpPrompt("run books", "review/2", { path: "a/b" });
  assert.deepEqual(asked, [["http://server.test/mcp-servers/run%20books/prompts/review%2F2", { arguments: { path: "a/b" } }]]);
  const { id } = await client.createExecution({ source, messages: rendered.messages });
  await client.cancelExecution(id);
});
