// From what a form says to the body of a request, back from an execution, and from errors to their fields.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bodyOf, valuesOf } from "../../../internal/console/web/body.js";
import { fields } from "../../../internal/console/web/fields.js";
import { place } from "../../../internal/console/web/form.js";

const settings = {
  defaultModel: "demo", defaultTimeoutSeconds: 300, defaultApprovalTimeoutSeconds: 3600, defaultRetryForSeconds: 3600,
  defaultCapabilities: { read: "allow", write: "ask", execute: "ask", network: "ask", mcp: "ask", delegate: "ask" },
};

/** An execution about which a request said nothing but its prompt, as the API shows it. */
const plain = {
  kind: "agent", source: { type: "internal", model: "demo" }, block: null, prompt: "Look.", messages: null, systemPrompt: null, instructions: null,
  capabilities: settings.defaultCapabilities, tools: {}, policy: { unattended: false }, safeMode: true, memory: { enabled: false }, runbookId: null,
  secrets: [], budget: null, maxIterations: 50, timeoutSeconds: 300, approvalTimeoutSeconds: 3600, retry: { forSeconds: 3600 }, keepOpen: false, idleTimeoutSeconds: 86400,
  retentionDays: null, mcpServers: [], resumeFrom: null, debug: false, workingDirectory: "/srv/work", metadata: {},
  contextFrom: [], outputsFrom: {}, outputSchema: null,
};

const bodies = [
  ["only what was set is sent",
    { type: "internal", prompt: "x", model: "", read: "", keepOpen: false, tools: null }, { source: { type: "internal" }, prompt: "x" }],
  ["what belongs to the other source is left out",
    { type: "acp", prompt: "x", model: "demo", command: "claude", agentModel: "opus", maxIterations: "3" },
    { source: { type: "acp", command: "claude", model: "opus" }, prompt: "x" }],
  ["options of an agent are lines",
    { type: "acp", command: "claude", options: "thought_level=high\nmode = plan" },
    { source: { type: "acp", command: "claude", options: { thought_level: "high", mode: "plan" } } }],
  ["numbers are numbers, with all their digits", { type: "internal", timeoutSeconds: " 0 ", budgetCost: "0.25", budgetTokens: "1e3" },
    { source: { type: "internal" }, timeoutSeconds: 0, budget: { cost: 0.25, tokens: 1000 } }],
  ["what is no number is left to the API",
    { type: "internal", timeoutSeconds: "soon", maxIterations: "010" },
    { source: { type: "internal" }, timeoutSeconds: "soon", maxIterations: "010" }],
  ["marks say what they are for",
    { type: "internal", keepOpen: true, fullTrust: true, memory: true },
    { source: { type: "internal" }, keepOpen: true, safeMode: false, memory: { enabled: true } }],
  ["names are taken apart",
    { type: "acp", command: "x", mcpServers: "github, docs\nmore,," },
    { source: { type: "acp", command: "x" }, mcpServers: ["github", "docs", "more"] }],
  ["no tools are a list without any", { type: "internal", tools: [] }, { source: { type: "internal" }, tools: { enabled: [] } }],
  ["labels are lines",
    { type: "internal", metadata: "a=1\n\n b = x=y \n__proto__=z" },
    { source: { type: "internal" }, metadata: Object.fromEntries([["a", "1"], ["b", "x=y"], ["__proto__", "z"]]) }],
  ["an environment is a name, or what is left of one",
    { type: "internal", environment: { name: "app", readOnly: true, mounts: ["/srv"] } },
    { source: { type: "internal" }, environment: { name: "app", readOnly: true, mounts: ["/srv"] } }],
  ["the default environment is not sent", { type: "internal", environment: null }, { source: { type: "internal" } }],
  ["capabilities stand together",
    { type: "internal", write: "deny", execute: "allow" },
    { source: { type: "internal" }, capabilities: { write: "deny", execute: "allow" } }],
  ["files follow the text, each as what it is",
    { type: "internal", prompt: "Look.", files: [{ fileId: "a", mediaType: "image/png", name: "a.png", size: 1 }, { fileId: "b", mediaType: "text/csv" }] },
    { source: { type: "internal" }, prompt: [{ type: "text", text: "Look." }, { type: "image", fileId: "a" }, { type: "file", fileId: "b" }] }],
  ["files need no text", { type: "internal", prompt: "", files: [{ fileId: "a", mediaType: "image/png" }] },
    { source: { type: "internal" }, prompt: [{ type: "image", fileId: "a" }] }],
  ["further members stand beside the fields, also inside of the same object",
    { type: "internal", tools: ["bash"], further: '{"policy":{"unattended":true},"tools":{"bashPolicy":{"defaultBehavior":"deny"}}}' },
    { source: { type: "internal" }, policy: { unattended: true }, tools: { enabled: ["bash"], bashPolicy: { defaultBehavior: "deny" } } }],
];
for (const [name, values, body] of bodies) {
  test(name, () => assert.deepEqual(bodyOf(values), { body, errors: [] }));
}

const mistakes = [
  [{ metadata: "a=1\nb" }, "/metadata", /line 2/],
  [{ metadata: "a=1\na=2" }, "/metadata", /names a twice/],
  [{ outputSchema: "{" }, "/outputSchema", /^is not JSON: /],
  [{ further: "[]" }, null, /must be an object/],
  [{ prompt: "x", further: '{"prompt":"y"}' }, "/prompt", /among the further members, as prompt/],
  [{ write: "ask", further: '{"capabilities":"none"}' }, "/capabilities/write", /among the further members/],
];
for (const [values, pointer, message] of mistakes) {
  test(`what cannot be written as JSON is said: ${JSON.stringify(values)}`, () => {
    const { body, errors } = bodyOf({ type: "internal", ...values });
    assert.equal(errors.length, 1);
    assert.equal(errors[0].pointer, pointer);
    assert.match(errors[0].message, message);
    assert.deepEqual(body.source, { type: "internal" });
  });
}

test("what an execution has by default is left to the defaults", () => {
  assert.deepEqual(bodyOf(valuesOf(plain, settings)).body, { source: { type: "internal" }, prompt: "Look.", workingDirectory: "/srv/work" });
});

test("without the settings all that an execution had is said", () => {
  const { body } = bodyOf(valuesOf(plain, undefined));
  assert.deepEqual(body.capabilities, plain.capabilities);
  assert.equal(body.timeoutSeconds, 300);
});

test("running again keeps the environment, without the digest that no request sets", () => {
  const again = (environment) => bodyOf(valuesOf({ ...plain, environment }, settings)).body.environment;
  assert.equal(again({ name: "machine", digest: "9f" }), "machine");
  assert.deepEqual(again({ name: "app", readOnly: true, hosts: [], digest: "9f" }), { name: "app", readOnly: true, hosts: [] });
  assert.equal(again(null), undefined); // of an older server
});

test("running again keeps whatever held an execution back", () => {
  const members = {
    source: { type: "internal", model: "big", fallbacks: ["demo"], settings: { effort: "low", seed: 7 } }, systemPrompt: "Be brief.",
    capabilities: { ...settings.defaultCapabilities, write: "deny" },
    tools: { enabled: [], bashPolicy: { defaultBehavior: "deny" } }, safeMode: false,
    policy: { unattended: true, rules: [{ effect: "deny", matcher: { path: "/srv/**" } }] },
    budget: { tokens: 5, cost: 0.5 }, timeoutSeconds: 0, metadata: { ticket: "OPS-1" }, secrets: ["github"],
    outputSchema: { type: "object" }, keepOpen: true, memory: { enabled: true },
    retentionDays: 0, runbookId: "disks", debug: true, contextFrom: ["e1"], maxIterations: 7,
  };
  const { body, errors } = bodyOf(valuesOf({ ...plain, ...members }, settings));
  assert.deepEqual(errors, []);
  assert.deepEqual(body, { ...members, capabilities: { write: "deny" }, prompt: "Look.", workingDirectory: "/srv/work" });
});

test("running again names the files of the prompt", () => {
  const file = { fileId: "a", name: "a.png", mediaType: "image/png", size: 1 };
  const { body } = bodyOf(valuesOf({ ...plain, parts: [{ type: "text", text: "Look." }, { type: "image", path: "a.png", ...file }] }, settings));
  assert.deepEqual(body.prompt, [{ type: "text", text: "Look." }, { type: "image", fileId: "a" }]);
});

test("a conversation and a kind are further members; labels that are no lines, too", () => {
  const messages = [{ role: "user", content: "Hello" }];
  const { body } = bodyOf(valuesOf({ ...plain, kind: "assistant", prompt: null, messages, metadata: { note: "two\nlines" } }, settings));
  assert.equal(body.kind, "assistant");
  assert.equal(body.keepOpen, false);
  assert.deepEqual(body.messages, messages);
  assert.deepEqual(body.metadata, { note: "two\nlines" });
});

const placings = [
  ["/prompt", {}, "prompt", "Must not be blank."],
  ["/prompt/1", { files: [{}] }, "files", "Must not be blank."],
  ["/prompt/0/text", {}, "prompt", "0/text: must not be blank."],
  ["/metadata/a b", {}, "metadata", "a b: must not be blank."],
  ["/tools/bashPolicy/rules/0/pattern", {}, "bashPolicy", "rules/0/pattern: must not be blank."],
  ["/source/model", { type: "acp" }, "agentModel", "Must not be blank."],
  ["/source/model", {}, "model", "Must not be blank."],
  ["/policy/rules/0", { further: "{}" }, "further", "policy/rules/0: must not be blank."],
  [null, { further: "{" }, "further", "Must not be blank."],
];
for (const [pointer, values, name, message] of placings) {
  test(`an error at ${pointer} stands at ${name}`, () => {
    const { placed, rest } = place([{ pointer, message: "must not be blank" }], fields, { type: "internal", ...values });
    assert.deepEqual([[...placed], rest], [[[name, [message]]], []]);
  });
}

test("an error without a field stands at the top", () => {
  for (const pointer of ["/policy", "/promptly", "Idempotency-Key", ""]) {
    const { placed, rest } = place([{ pointer, message: "is wrong" }], fields, { type: "internal", further: "" });
    assert.deepEqual([placed.size, rest.length], [0, 1], pointer);
  }
});
