import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SignoffError } from "@signoff/client";
import { Model } from "./model.js";
import { Server } from "./server.js";

let model: Model;
let server: Server;

before(async () => {
  model = await Model.up(async (answer) => answer.say("done"));
  server = await Server.up(model.url);
});
after(async () => {
  await server?.down();
  await model?.down();
});

const conflict = (error: unknown) => error instanceof SignoffError && error.code === "conflict";

test("a named agent is made, used, replaced and hidden", async () => {
  const client = server.client();
  const made = await client.createAgentProfile("dba", { source: { type: "internal" }, systemPrompt: "Be careful.", timeoutSeconds: 60 });
  assert.equal(made.version, 1);
  await assert.rejects(client.createAgentProfile("dba", { source: { type: "internal" } }), conflict);
  const execution = await client.createExecution({ source: { type: "profile", name: "dba" }, prompt: "x", timeoutSeconds: 30 }, { waitSeconds: 30 });
  assert.deepEqual(execution.profile, { name: "dba", version: 1, digest: made.digest });
  assert.equal(execution.status, "completed");
  assert.equal(execution.systemPrompt, "Be careful.");
  const replaced = await client.replaceAgentProfile("dba", 1, { source: { type: "internal" } });
  assert.equal(replaced.version, 2);
  await assert.rejects(client.replaceAgentProfile("dba", 1, { source: { type: "internal" } }), conflict);
  assert.deepEqual((await client.listAgentProfiles()).items.map((profile) => profile.name), ["dba"]);
  await client.deleteAgentProfile("dba");
  assert.deepEqual((await client.listAgentProfiles()).items, []);
  assert.equal((await client.agentProfile("dba", { version: 1 })).digest, made.digest);
});
