import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SignoffError, type Signoff } from "@signoff/client";
import { Model, type Script } from "./model.js";
import { Server } from "./server.js";

/** Asks the frontend once, and then says what it was told. */
const asks: Script = (answer, conversation) => {
  const last = conversation.at(-1);
  if (last?.role === "tool") answer.say(`told: ${last.content}`);
  else answer.call("insert_blocks", { after: "b1" });
};

let model: Model;
let server: Server;
let client: Signoff;

before(async () => {
  model = await Model.up(asks);
  server = await Server.up(model.url);
  client = server.client();
});
after(async () => {
  await server?.down();
  await model?.down();
});

const source = { type: "internal" } as const;

async function refused(call: Promise<unknown>): Promise<SignoffError> {
  const error = await call.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof SignoffError, String(error));
  return error;
}

test("a frontend runs a tool of its own and hands in what came of it", async () => {
  const clientTools = [{ name: "insert_blocks", description: "Inserts blocks.", schema: { type: "object" }, class: "read" as const }];
  const { id } = await client.createExecution({ source, prompt: "Insert a block.", clientTools });
  let toolCallId = "";
  for await (const event of client.events(id)) {
    if (event.type !== "toolCall.started" || event.data.awaits !== "client") continue;
    toolCallId = event.data.toolCallId;
    assert.deepEqual(event.data.arguments, { after: "b1" });
    break;
  }
  assert.deepEqual((await client.getExecution(id)).pendingToolCalls.map((call) => call.toolCallId), [toolCallId]);
  const answered = await client.toolResult(id, { toolCallId, output: { inserted: ["b7"] } });
  assert.equal(answered.status, "answered");
  assert.deepEqual(await client.toolResult(id, { toolCallId, output: { inserted: ["b7"] } }), answered, "the same again");
  const late = await refused(client.toolResult(id, { toolCallId, error: "There is no b1." }));
  assert.deepEqual([late.status, late.code, late.toolCall?.answer], [409, "alreadyAnswered", answered.answer]);
  assert.equal((await refused(client.toolResult(id, { toolCallId: "none", output: "" }))).status, 404);
  const ended = await client.getExecution(id, { waitSeconds: 20 });
  assert.deepEqual([ended.status, ended.output?.text], ["completed", 'told: {"inserted":["b7"]}']);
});

test("an execution is read as a conversation", async () => {
  const { id, lastSeq } = await client.createExecution({ source, prompt: "Insert a block." }, { waitSeconds: 20 });
  const { items, lastSeq: made } = await client.items(id);
  assert.equal(made, lastSeq);
  assert.deepEqual(items.map((item) => item.kind), ["message", "tool", "message"]);
  assert.deepEqual([items[0]?.message?.role, items[0]?.message?.text], ["user", "Insert a block."]);
  assert.equal(items[1]?.tool?.tool, "insert_blocks");
  assert.match(items[2]?.message?.text ?? "", /^told: /);
});

test("templates are rendered, and what is wrong with one is said", async () => {
  const variables = { rows: [1, 2, 3] };
  const { text, variables: used } = await client.renderTemplate({ template: "{{ rows | length }} rows", variables });
  assert.deepEqual([text, used], ["3 rows", ["rows"]]);
  const error = await refused(client.renderTemplate({ template: "{{ columns }}", variables }));
  assert.deepEqual([error.status, error.code], [422, "templateFailed"]);
  assert.match(error.message, /columns/);
});

test("an agent is shown with what it offers, where it offers something", async () => {
  const agent = await client.agent("internal");
  assert.deepEqual([agent.type, agent.available, agent.offers], ["internal", true, undefined]);
  const error = await refused(client.agent("no/body"));
  assert.deepEqual([error.status, error.code], [404, "notFound"]);
});

test("settings tell what a request may name", async () => {
  const settings = await client.settings();
  assert.deepEqual(settings.models, ["test"]);
  assert.equal(settings.defaultModel, "test");
  assert.equal(settings.features.blockGeneration, true);
});
