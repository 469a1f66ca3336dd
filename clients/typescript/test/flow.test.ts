import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Signoff } from "@signoff/client";
import { GenerationFlow, type State } from "../example/flow.js";
import { Runbook } from "../example/runbook.js";
import { Model, type Message, type Script } from "./model.js";
import { Proxy } from "./proxy.js";
import { Server } from "./server.js";

/** What a person said last. */
const wish = (conversation: Message[]) => conversation.filter((message) => message.role === "user").at(-1)?.content ?? "";

const scriptBlock = (name: string) => ({ type: "script", props: { name, code: "df -h" } });

/** A model that does what its prompt says: `blocks a b` hands in blocks with these names; other words are below. */
const obedient: Script = async (answer, conversation) => {
  const said = wish(conversation);
  const names = /blocks ([a-z0-9 ]+)/.exec(said)?.[1]?.trim().split(" ") ?? [];
  if (said.includes("hang")) {
    answer.think("Let me see. ");
    await answer.closed;
  } else if (said.includes("refuse")) {
    answer.refuse(401);
  } else if (said.includes("repair") && conversation.at(-1)?.role !== "tool") {
    answer.call("submit_blocks", { blocks: [{ type: "script", props: { name: 1 } }] });
  } else if (names.length > 0) {
    answer.think("I know. ");
    answer.call("submit_blocks", { blocks: names.map(scriptBlock) });
  } else {
    answer.say("I would rather talk.");
  }
};

const blockTypes = [
  { type: "script", propsSchema: { type: "object", required: ["name", "code"], properties: { name: { type: "string" }, code: { type: "string" } } } },
];

let model: Model;
let server: Server;

before(async () => {
  model = await Model.up(obedient);
  server = await Server.up(model.url);
});
after(async () => {
  await server?.down();
  await model?.down();
});

let runbooks = 0;

/** A page without a page: what it would show, and a person who waits for it. */
class Desk {
  readonly runbook: Runbook;
  readonly flow: GenerationFlow;
  readonly states: State[] = [];
  readonly errors: string[] = [];
  readonly signoff: Signoff;
  progress = "";
  #waiting: (() => void)[] = [];

  constructor(prompt: string, { id = `runbook-${++runbooks}`, baseUrl = server.url } = {}) {
    this.runbook = new Runbook(id);
    this.runbook.add("text", { text: "Before." });
    this.runbook.add("prompt", { text: prompt });
    this.runbook.add("text", { text: "After." });
    this.signoff = server.client({ baseUrl });
    this.flow = new GenerationFlow({
      signoff: this.signoff,
      runbook: this.runbook,
      blockTypes,
      onState: (state) => {
        this.states.push(state);
        this.#waiting.splice(0).forEach((ring) => ring());
      },
      onError: (text) => this.errors.push(text),
      onProgress: (text) => (this.progress += text),
      follow: { backoff: () => 5, maxFailures: 200 }, // a test that failed does not follow a server that is gone
    });
  }

  /** The block with the prompt. */
  get prompt(): string {
    return this.runbook.blocks.find((block) => block.type === "prompt")!.id;
  }

  generate(): void {
    void this.flow.generate(this.prompt);
  }

  /** Waits until the flow is there, and returns the state. An interruption that was not waited for is an error at once. */
  async until<S extends State["status"]>(status: S, when: (state: Extract<State, { status: S }>) => boolean = () => true) {
    const before = this.flow.state;
    for (;;) {
      const state = this.flow.state;
      if (state.status === "interrupted" && status !== "interrupted" && state !== before) throw new Error(`${status} was waited for: ${state.reason}`);
      if (state.status === status && when(state as Extract<State, { status: S }>)) return state as Extract<State, { status: S }>;
      await new Promise<void>((resolve, reject) => {
        const late = () => reject(new Error(`${status} was waited for; ${this.trace}; ${this.errors}`));
        const timer = setTimeout(late, 30_000);
        this.#waiting.push(() => resolve(clearTimeout(timer)));
      });
    }
  }

  /** The names of the blocks behind the prompt; those that are proposed have a question mark. */
  get shown(): string {
    const scripts = this.runbook.blocks.filter((block) => block.type === "script");
    if (scripts.length > 0) assert.equal(this.runbook.blocks[this.runbook.blocks.indexOf(scripts[0]!) - 1]?.id, this.prompt);
    return scripts.map((block) => `${block.props["name"]}${block.proposed ? "?" : ""}`).join(" ");
  }

  get trace(): string {
    return this.states.map((state) => state.status).join(" ");
  }

  /** How the execution ended. */
  async end(id: string): Promise<string> {
    return (await this.signoff.getExecution(id, { waitSeconds: 20 })).status;
  }
}

test("generate, accept", async () => {
  const desk = new Desk("blocks a b");
  desk.generate();
  const { executionId, generation } = await desk.until("postGeneration");
  assert.equal(generation, 1);
  assert.equal(desk.shown, "a? b?");
  assert.match(desk.progress, /I know\./);
  const revision = desk.runbook.revision;
  await Promise.all([desk.flow.accept(), desk.flow.accept()]);
  assert.equal(desk.shown, "a b");
  assert.notEqual(desk.runbook.revision, revision);
  assert.equal(desk.trace, "generating generating postGeneration idle");
  assert.equal(await desk.end(executionId), "completed");
  const history = await desk.signoff.generation(executionId);
  assert.equal(history.state, "accepted");
  assert.deepEqual(desk.errors, []);
});

test("generate, edit, edit again, accept", async () => {
  const desk = new Desk("blocks a b");
  desk.generate();
  const { executionId } = await desk.until("postGeneration");
  desk.flow.edit();
  desk.flow.edit("blocks c");
  const asked = model.conversations.length;
  void desk.flow.submitEdit();
  assert.equal(desk.shown, "a? b?", "the old blocks stay until the new ones come");
  await desk.until("postGeneration", ({ generation }) => generation === 2);
  assert.equal(desk.shown, "c?");
  assert.equal(model.conversations.length, asked + 1, "exactly one request to the model");
  desk.flow.edit("blocks d e");
  void desk.flow.submitEdit();
  await desk.until("postGeneration", ({ generation }) => generation === 3);
  assert.equal(desk.shown, "d? e?");
  await desk.flow.accept();
  assert.equal(desk.shown, "d e");
  assert.equal(
    desk.trace,
    "generating generating postGeneration editing editing submittingEdit postGeneration editing submittingEdit postGeneration idle",
  );
  assert.equal(await desk.end(executionId), "completed");
  const { versions } = await desk.signoff.generation(executionId);
  assert.deepEqual(versions.map((version) => version.state), ["superseded", "superseded", "accepted"]);
});

test("generate, cancel", async () => {
  const desk = new Desk("blocks a");
  desk.generate();
  const { executionId } = await desk.until("postGeneration");
  desk.flow.edit("never mind");
  desk.flow.cancel();
  assert.equal(desk.flow.state.status, "postGeneration", "in the field, it closes the field");
  desk.flow.cancel();
  assert.equal(desk.flow.state.status, "cancelled");
  assert.equal(desk.shown, "");
  assert.equal(await desk.end(executionId), "cancelled");
  assert.deepEqual(desk.errors, []);
});

test("cancel while it generates, with an id and before there is one", async () => {
  const desk = new Desk("hang");
  desk.generate();
  const { executionId } = await desk.until("generating", (state) => state.executionId !== undefined);
  desk.flow.cancel();
  assert.equal(desk.flow.state.status, "cancelled");
  assert.equal(await desk.end(executionId!), "cancelled");

  const hasty = new Desk("hang");
  hasty.generate();
  hasty.flow.cancel();
  assert.equal(hasty.trace, "generating cancelled");
  for (;;) {
    const { items } = await hasty.signoff.listExecutions({ limit: 10 });
    const made = items.find((one) => one.runbookId === hasty.runbook.id);
    if (made === undefined) continue; // the request is on its way
    assert.equal(await hasty.end(made.id), "cancelled");
    break;
  }
  assert.deepEqual([...desk.errors, ...hasty.errors], []);
});

test("a new generation for the same place cancels the old one, in this window and in another", async () => {
  const desk = new Desk("blocks a");
  desk.generate();
  const first = await desk.until("postGeneration");
  desk.runbook.change(desk.prompt, { text: "blocks b" });
  desk.generate();
  const second = await desk.until("postGeneration", ({ executionId }) => executionId !== first.executionId);
  assert.equal(desk.shown, "b?");
  assert.equal(await desk.end(first.executionId), "cancelled");

  const other = new Desk("blocks c", { id: desk.runbook.id });
  other.generate();
  await desk.until("cancelled");
  assert.equal(desk.shown, "");
  assert.equal(await desk.end(second.executionId), "cancelled");
  await other.until("postGeneration");
  await other.flow.accept();
  assert.equal(other.shown, "c");
  assert.deepEqual([...desk.errors, ...other.errors], []);
});

test("a runbook that has changed takes no blocks; an edit adapts them", async () => {
  const desk = new Desk("blocks a");
  desk.generate();
  const { executionId } = await desk.until("postGeneration");
  desk.runbook.add("text", { text: "Meanwhile." });
  await desk.flow.accept();
  assert.equal(desk.flow.state.status, "postGeneration");
  assert.match(desk.errors.join(), /has changed/);
  assert.equal(desk.shown, "a?");
  desk.flow.edit("blocks b");
  await desk.flow.submitEdit();
  await desk.until("postGeneration", ({ generation }) => generation === 2);
  await desk.flow.accept();
  assert.equal(desk.shown, "b");
  assert.equal(await desk.end(executionId), "completed");
});

test("blank text triggers nothing, and the same again while it runs neither", async () => {
  const blank = new Desk("  ");
  blank.generate();
  assert.equal(blank.trace, "");
  const desk = new Desk("hang");
  desk.generate();
  desk.generate();
  const { executionId } = await desk.until("generating", (state) => state.executionId !== undefined);
  desk.generate();
  assert.equal(desk.trace, "generating generating");
  desk.flow.cancel();
  assert.equal(await desk.end(executionId!), "cancelled");
});

test("a model that hands in bad blocks is told so; one that hands in none has failed", async () => {
  const clumsy = new Desk("repair blocks a");
  clumsy.generate();
  const { generation } = await clumsy.until("postGeneration");
  assert.deepEqual([generation, clumsy.shown], [1, "a?"]);
  clumsy.flow.cancel();

  const talkative = new Desk("just talk");
  talkative.generate();
  await talkative.until("idle");
  assert.equal(talkative.trace, "generating generating idle");
  assert.equal(talkative.errors.length, 1);
});

test("an edit that the provider refuses leaves the blocks as they are: the person gives it up", async () => {
  const desk = new Desk("blocks a");
  desk.generate();
  const { executionId } = await desk.until("postGeneration");
  desk.flow.edit("refuse");
  await desk.flow.submitEdit();
  const { reason, proposed } = await desk.until("interrupted");
  assert.ok(proposed);
  assert.match(reason, /does not accept the key \(401\)/);
  assert.deepEqual(desk.errors, [reason]);
  assert.equal(desk.shown, "a?");
  const { revision: documentRevision } = desk.runbook;
  await assert.rejects(desk.signoff.acceptGeneration(executionId, { generation: 1, documentRevision }), { code: "busy" });
  await assert.rejects(desk.signoff.editGeneration(executionId, { text: "blocks c" }), { code: "busy" });
  await Promise.all([desk.flow.giveUp(), desk.flow.giveUp()]);
  const { generation } = await desk.until("postGeneration");
  assert.equal(generation, 1);
  assert.deepEqual(desk.errors, [reason], "it was told once");
  assert.equal(desk.shown, "a?");
  await desk.flow.accept();
  assert.equal(desk.shown, "a");
  assert.equal(await desk.end(executionId), "completed");
});

test("an edit that the provider refuses goes on when it is retried, and is cancelled while it waits for that", async (t) => {
  t.after(() => (model.script = obedient));
  const desk = new Desk("blocks a");
  desk.generate();
  const { executionId } = await desk.until("postGeneration");
  model.script = (answer) => answer.refuse(401);
  desk.flow.edit("blocks b");
  await desk.flow.submitEdit();
  await desk.until("interrupted");
  await desk.flow.retry();
  await desk.until("interrupted", () => desk.errors.length === 2);
  assert.equal(desk.shown, "a?");
  model.script = obedient; // the operator has mended the key
  await desk.flow.retry();
  await desk.until("postGeneration", ({ generation }) => generation === 2);
  assert.equal(desk.shown, "b?");
  const ways = "submittingEdit interrupted submittingEdit interrupted submittingEdit postGeneration";
  assert.equal(desk.trace, `generating generating postGeneration editing ${ways}`);
  desk.flow.edit("refuse");
  await desk.flow.submitEdit();
  await desk.until("interrupted");
  desk.flow.cancel();
  assert.equal(desk.flow.state.status, "cancelled");
  assert.equal(desk.shown, "");
  assert.equal(await desk.end(executionId), "cancelled");
});

test("a generation that the provider refuses is retried, or has failed when it is given up", async (t) => {
  t.after(() => (model.script = obedient));
  model.script = (answer) => answer.refuse(401);
  const patient = new Desk("blocks a");
  patient.generate();
  const { proposed } = await patient.until("interrupted");
  assert.ok(!proposed);
  model.script = obedient;
  await patient.flow.retry();
  await patient.until("postGeneration");
  assert.equal(patient.shown, "a?");
  assert.equal(patient.trace, "generating generating interrupted generating postGeneration");
  patient.flow.cancel();

  const hasty = new Desk("refuse");
  hasty.generate();
  const { executionId } = await hasty.until("interrupted");
  await hasty.flow.giveUp();
  await hasty.until("idle");
  assert.equal(hasty.errors.length, 1, hasty.errors.join("\n"));
  assert.equal(await hasty.end(executionId), "failed");
});

test("a person is told that a model is away for a moment, and waits", async (t) => {
  t.after(() => (model.script = obedient));
  model.script = (answer) => {
    model.script = obedient;
    answer.refuse(503);
  };
  const desk = new Desk("blocks a");
  desk.generate();
  await desk.until("postGeneration");
  assert.match(desk.progress, /503.* Trying again\./);
  assert.deepEqual(desk.errors, []);
});

test("a retry in another window is seen in this one", async (t) => {
  t.after(() => (model.script = obedient));
  model.script = (answer) => answer.refuse(401);
  const desk = new Desk("blocks a");
  desk.generate();
  const { executionId } = await desk.until("interrupted");
  model.script = obedient;
  await desk.signoff.resumeExecution(executionId, { mode: "retry" });
  await desk.flow.retry(); // too late, and no error
  await desk.until("postGeneration");
  assert.equal(desk.errors.length, 1, desk.errors.join("\n"));
});

test("what the server does not take is said, and the flow is where it was", async () => {
  const desk = new Desk("blocks a", { id: "no id, with blanks" });
  desk.generate();
  await desk.until("idle");
  assert.match(desk.errors.join(), /runbookId/);
});

test("connections that break in the middle change nothing", async (t) => {
  // Every other connection lives long enough for an answer: a call is sent three times and no more.
  const cuts = Array.from({ length: 12 }, (_, n) => ({ after: n % 2 === 0 ? 100 + 300 * n : 5000, reset: n % 4 === 0 }));
  const proxy = await Proxy.up(server.url, cuts);
  t.after(() => proxy.down());
  const desk = new Desk("blocks a b", { baseUrl: proxy.url });
  desk.generate();
  await desk.until("postGeneration");
  assert.equal(desk.shown, "a? b?");
  desk.flow.edit("blocks c");
  await desk.flow.submitEdit();
  await desk.until("postGeneration", ({ generation }) => generation === 2);
  await desk.flow.accept();
  assert.equal(desk.shown, "c");
  assert.ok(proxy.cuts >= 3, `${proxy.cuts} cuts`);
  assert.deepEqual(desk.errors, []);
});
