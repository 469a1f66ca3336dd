// The mocks of the vendors, served by a process of ours, and the conversation that every client has with them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const binary = process.env.SIGNOFF_MOCK_VENDOR;
assert.ok(binary, "SIGNOFF_MOCK_VENDOR must name the binary of test/sdk/mockvendor; type: make test-client");

let served = 0;

/** Starts the mocks; the process ends with this one's end of its standard input. */
export async function mocks() {
  const child = spawn(binary, { stdio: ["pipe", "pipe", "inherit"] });
  const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  assert.ok(first.value, "the mocks have told no address");
  return {
    /** A model that nobody has asked yet, and the base address of its vendor. */
    model(dialect, name = "m") {
      const model = `${name}-${++served}`;
      return { model, baseURL: `${first.value}/${dialect}/${model}/v1` };
    },
    stop() {
      child.stdin.end();
    },
  };
}

/** What each call is answered: the mocks' models call bash, and only say that they look again. */
export const result = (call) => `The result of ${call}.`;

export const bash = {
  name: "bash",
  description: "Runs a command.",
  schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"], additionalProperties: false },
};

/**
 * Has so many turns, as the vendors tell their users to: what the model answers is appended as it is, and so are the results of its calls. Each turn of a
 * mock is two calls at once, one call with a text, and a text.
 *
 * @param client says(text) appends a word of the user, ask() sends the conversation, appends the answer and returns its calls, and
 *   results(calls) appends theirs
 */
export async function converse(client, turns = 3) {
  for (let turn = 0; turn < turns; turn++) {
    client.says(`Turn ${turn}.`);
    const rounds = [];
    for (let calls = await client.ask(); ; calls = await client.ask()) {
      rounds.push(calls.length);
      if (calls.length === 0) break;
      client.results(calls);
    }
    assert.deepEqual(rounds, [2, 1, 0]);
  }
}

/** Fails unless the vendor answers 400, because of what is missing and not because the request is none. */
export async function refused(asking) {
  let error;
  try {
    await asking;
  } catch (caught) {
    error = caught;
  }
  assert.ok(error, "the vendor took a conversation without its state");
  const status = error.status ?? error.statusCode;
  assert.equal(status, 400, `not a refusal: ${error.stack}`);
  assert.doesNotMatch(error.message, /cannot be read/);
}
