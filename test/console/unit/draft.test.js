// The draft of a new execution: what is kept of it, and the key that it is sent under.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Draft } from "../../../internal/console/web/draft.js";

const body = { source: { type: "internal" }, prompt: "Look." };
let kept;

beforeEach(() => {
  kept = new Map();
  globalThis.sessionStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => kept.set(name, text),
    removeItem: (name) => kept.delete(name),
  };
});

test("the same body goes under the same key, also after a reload; another one under another", () => {
  const draft = new Draft(null);
  draft.change({ prompt: "Look." });
  const key = draft.keyFor(body);
  assert.match(key, /^[!-~]{1,255}$/);
  assert.equal(draft.keyFor(structuredClone(body)), key);
  assert.equal(new Draft(null).keyFor(body), key);
  const other = draft.keyFor({ ...body, prompt: "Look again." });
  assert.notEqual(other, key);
  assert.notEqual(draft.keyFor(body), other);
});

test("what has started is forgotten: the same prompt starts another execution", () => {
  const draft = new Draft(null);
  draft.change({ prompt: "Look." });
  const key = draft.keyFor(body);
  draft.forget();
  assert.equal(new Draft(null).values, undefined);
  assert.notEqual(new Draft(null).keyFor(body), key);
});

test("a draft is there again after a reload, and one in which nothing stands is none", () => {
  new Draft(null).change({ type: "acp", prompt: "Look.", keepOpen: false, tools: null });
  assert.equal(new Draft(null).values.prompt, "Look.");
  new Draft(null).change({ type: "acp", prompt: "", keepOpen: false, tools: null });
  assert.equal(new Draft(null).values, undefined);
});

test("a form that is filled from an execution takes no draft but its own", () => {
  new Draft("e1").change({ prompt: "As e1, changed." });
  assert.equal(new Draft("e1").values.prompt, "As e1, changed.");
  assert.equal(new Draft("e2").values, undefined);
  assert.equal(new Draft(null).values.prompt, "As e1, changed.");
});

test("a draft that cannot be kept, or was kept by somebody else, is no obstacle", () => {
  globalThis.sessionStorage.setItem = () => {
    throw new Error("QuotaExceededError");
  };
  const draft = new Draft(null);
  draft.change({ prompt: "x" });
  assert.equal(draft.values.prompt, "x");
  assert.equal(draft.keyFor(body), draft.keyFor(body));
  kept.set("signoff.draft", "{");
  assert.equal(new Draft(null).values, undefined);
});
