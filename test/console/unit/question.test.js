// The form of a question is made of a schema that an agent wrote: what is flat becomes fields, and what is odd never an error.

import assert from "node:assert/strict";
import { test } from "node:test";

import { optionsOf, verbOf } from "../../../internal/console/web/options.js";
import { partsOf } from "../../../internal/console/web/question.js";

const kindOf = (schema) => partsOf({ type: "object", properties: { one: schema } })[0].kind;

test("each flat member has its field", () => {
  for (const [schema, kind] of [
    [{ type: "string" }, "text"], [{ type: "string", format: "email" }, "text"], [{ type: "number" }, "number"], [{ type: "integer" }, "number"],
    [{ type: "boolean" }, "yesNo"], [{ type: "string", enum: ["a", "b"] }, "one"], [{ enum: [1, 2] }, "one"],
    [{ oneOf: [{ const: "a", title: "A" }, { const: "b" }] }, "one"], [{ type: "array", items: { enum: ["a"] } }, "some"],
    [{ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } }, "some"],
  ]) assert.equal(kindOf(schema), kind, JSON.stringify(schema));
});

test("what is not flat is JSON", () => {
  const list = { type: "array", items: { type: "string" } };
  for (const schema of [{ type: "object" }, list, {}, true, null, "x", { type: ["string", "null"] }, { oneOf: [{ type: "string" }] }, { enum: [] }]) {
    assert.equal(kindOf(schema), "json", JSON.stringify(schema));
  }
});

test("a field has its name, what it is for, and what it begins with", () => {
  const host = { type: "string", title: "Host", description: "Which?", default: "db-1", maxLength: 50 };
  const [part] = partsOf({ properties: { host }, required: ["host"] });
  assert.deepEqual(part, { name: "host", required: true, title: "Host", description: "Which?", initial: "db-1", kind: "text", long: false });
});

test("choices have their titles", () => {
  const [part] = partsOf({ properties: { size: { enum: ["s", 5], enumNames: ["Small"] } } });
  assert.deepEqual(part.choices, [{ value: "s", title: "Small" }, { value: 5, title: "5" }]);
});

test("a schema that lists no fields is answered as a whole", () => {
  for (const schema of [undefined, null, {}, "x", [], { properties: [] }, { type: "string" }]) assert.equal(partsOf(schema), null);
  assert.deepEqual(partsOf({ type: "object", properties: {} }), [], "nothing but a yes");
});

test("the kind of an option says which decision it is, or does not", () => {
  for (const kind of ["allow_once", "allow_always", "allow_new"]) assert.equal(verbOf(kind), "approve");
  for (const kind of ["reject_once", "reject_always"]) assert.equal(verbOf(kind), "deny");
  for (const kind of ["", "other", "Allow_once"]) assert.equal(verbOf(kind), "unclear");
});

test("options are the agent's, verbatim; what is none is passed over", () => {
  const found = optionsOf([null, 5, {}, { optionId: 7 }, { optionId: "a", name: "Go\u202e", kind: "allow_once" }, { optionId: "b", name: " ", kind: 5 }]);
  assert.deepEqual(found.map(({ optionId, name, kind }) => [optionId, name, kind]), [["a", "Go\u202e", "allow_once"], ["b", "b", ""]]);
  assert.deepEqual(optionsOf(null), []);
});
