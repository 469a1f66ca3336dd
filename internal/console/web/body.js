// From what a person has filled in to the body of POST /executions, and back from an execution that has been. What nobody set is not in the
// body, so the server's defaults hold. What is wrong is left to the server to say, except what cannot be written as JSON at all.

import { promptOf } from "./attachments.js";
import { choiceOf } from "./environment.js";
import { fields, fixedDefaults } from "./fields.js";
import { parseJSON, showJSON } from "./json.js";

/**
 * The body that the values make, and what of them cannot be in it: [{pointer, message}] like the API's own errors; those
 * of the field "further", which may be about any member, have no pointer.
 */
export function bodyOf(values) {
  const errors = [];
  const attempt = (field, act) => {
    try {
      act();
    } catch (error) {
      errors.push({ pointer: field.pointer, message: error.message });
    }
  };
  let body = {};
  attempt(further, () => (body = furtherMembers(values.further)));
  for (const field of fields) {
    if (field === further || field.kind === "files" || isUnset(field, values)) continue;
    attempt(field, () => put(body, field.pointer, kinds[field.kind].read(values[field.name], field)));
  }
  if (values.files?.length > 0) body.prompt = promptOf(body.prompt, values.files);
  return { body, errors };
}

const further = fields.find((field) => field.pointer === null);

function isUnset(field, values) {
  const value = values[field.name];
  return value === undefined || value === null || value === "" || value === false || !belongs(field, values.type);
}

/** Tells whether a field is one for this type of source. */
export function belongs(field, type) {
  return field.only === undefined || field.only === type;
}

function furtherMembers(text = "") {
  if (text.trim() === "") return {};
  const members = readJSON(text);
  if (members === null || typeof members !== "object" || Array.isArray(members)) throw new Error("must be an object: {…}");
  return members;
}

function put(body, pointer, value) {
  const names = pointer.slice(1).split("/");
  const last = names.pop();
  let object = body;
  for (const name of names) {
    if (!Object.hasOwn(object, name)) object[name] = {};
    object = object[name];
    if (object === null || typeof object !== "object") throw twice(pointer);
  }
  if (Object.hasOwn(object, last)) throw twice(pointer);
  object[last] = value;
}

function twice(pointer) {
  return new Error(`is set here and among the further members, as ${pointer.slice(1)}`);
}

const kinds = {
  text: { read: (text) => text, show: (value) => value },
  number: { read: readNumber, show: String },
  names: { read: (text) => text.split(/[,\n]/).map((name) => name.trim()).filter((name) => name !== ""), show: (names) => names.join(", ") },
  list: { read: (names) => names, show: (names) => names },
  pairs: { read: readPairs, show: (pairs) => Object.entries(pairs).map(([name, value]) => `${name}=${value}`).join("\n") },
  json: { read: readJSON, show: showJSON },
  environment: { read: (choice) => choice, show: choiceOf },
  check: { read: (_, field) => field.sends, show: (value, field) => value === field.sends },
};

/** A number keeps all its digits. What is none goes as it is: the API says what it should have been. */
function readNumber(text) {
  const trimmed = text.trim();
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed) ? parseJSON(trimmed) : trimmed;
}

function readJSON(text) {
  try {
    return parseJSON(text);
  } catch (error) {
    throw new Error(`is not JSON: ${error.message}`);
  }
}

function readPairs(text) {
  const pairs = new Map();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const equals = line.indexOf("=");
    if (equals < 1) throw new Error(`needs name=value in line ${at + 1}`);
    const name = line.slice(0, equals).trim();
    if (pairs.has(name)) throw new Error(`names ${name} twice`);
    pairs.set(name, line.slice(equals + 1).trim());
  }
  return Object.fromEntries(pairs);
}

/** The values that hold where a request says nothing, by the names of their fields; settings may be unknown. */
export function defaultsOf(settings) {
  return {
    ...fixedDefaults,
    ...settings?.defaultCapabilities,
    model: settings?.defaultModel ?? undefined,
    timeoutSeconds: settings?.defaultTimeoutSeconds,
    approvalTimeoutSeconds: settings?.defaultApprovalTimeoutSeconds,
    retryForSeconds: settings?.defaultRetryForSeconds,
  };
}

/** The values that start the same execution again. What is as the defaults have it is left to them. */
export function valuesOf(execution, settings) {
  const defaults = defaultsOf(settings);
  const values = {};
  for (const field of fields) {
    if (field === further || field.kind === "files" || !belongs(field, execution.source.type)) continue;
    const value = at(execution, field.pointer);
    if (isNothing(value) || value === defaults[field.name]) continue;
    values[field.name] = kinds[field.kind].show(value, field);
  }
  const files = (execution.parts ?? []).filter((part) => part.fileId !== undefined);
  if (files.length > 0) values.files = files.map(({ fileId, name, mediaType, size }) => ({ fileId, name, mediaType, size }));
  const rest = restOf(execution);
  if (Object.hasOwn(rest, "metadata")) delete values.metadata;
  if (Object.keys(rest).length > 0) values.further = showJSON(rest);
  return values;
}

function at(object, pointer) {
  return pointer.slice(1).split("/").reduce((value, name) => value?.[name] ?? undefined, object);
}

function isNothing(value) {
  return value === undefined || (typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0);
}

/** What an execution was created with that has no field of its own. Rules that held it back must not be lost on the way. */
function restOf(execution) {
  const rest = {};
  const keep = (name, worthIt) => {
    if (worthIt) rest[name] = execution[name];
  };
  keep("kind", execution.kind !== "agent");
  keep("messages", execution.messages !== null);
  keep("policy", execution.policy.unattended === true || execution.policy.rules?.length > 0);
  keep("runbookId", execution.runbookId !== null);
  keep("secrets", execution.secrets.length > 0);
  keep("contextFrom", execution.contextFrom.length > 0);
  keep("resumeFrom", execution.resumeFrom !== null);
  keep("retentionDays", execution.retentionDays !== null);
  keep("debug", execution.debug);
  keep("metadata", Object.values(execution.metadata).some((value) => value.trim() !== value || value.includes("\n"))); // are no lines
  keep("keepOpen", !execution.keepOpen && execution.kind === "assistant"); // of this kind true is the default
  return rest;
}
