// The form of a question, made of its JSON schema. What is flat becomes fields: texts, numbers, yes and no, one of a list, some of a list. All else is a
// field for JSON. The schema is an agent's: it may be odd, and then the whole answer is written as JSON. What fits is the server's to say.

import { h, say } from "./dom.js";
import { field, pointerPart } from "./field.js";
import { parseJSON, showJSON } from "./json.js";
import { lookup } from "./lookup.js";
import { revealText, revealed } from "./reveal.js";

const mostFields = 100;

/**
 * @param {{message?: string, schema?: object}} question
 * @returns {{element: HTMLElement, fields: Map<string, object>, value(): object | undefined}} as argumentsForm in edit.js
 */
export function questionForm(question) {
  const parts = partsOf(question?.schema);
  if (parts === null) return wholeForm();
  const rows = parts.map(row);
  return {
    element: h("div", { class: "stack" }, rows.map((one) => one.field.element)),
    fields: new Map(rows.map((one) => [`/answer/${pointerPart(one.name)}`, one.field])),
    value() {
      const values = rows.map((one) => [one.name, one.read()]);
      if (values.some(([, value]) => value === unreadable)) return undefined;
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
  };
}

/**
 * The fields that a schema asks for: [{name, title, description, required, kind, choices?, initial, long?}], kind is text, number, yesNo, one, some or json.
 * Null: the schema is no list of fields.
 */
export function partsOf(schema) {
  const properties = object(object(schema)?.properties);
  if (properties === undefined) return null;
  const names = Object.keys(properties);
  if (names.length > mostFields) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  return names.map((name) => ({ name, required: required.includes(name), ...partOf(object(properties[name]) ?? {}, name) }));
}

function object(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
}

function partOf(schema, name) {
  const about = { title: text(schema.title) ?? name, description: text(schema.description) ?? "", initial: schema.default };
  const choices = choicesOf(schema);
  if (choices !== undefined) return { ...about, kind: "one", choices };
  if (schema.type === "array") {
    const several = choicesOf(object(schema.items) ?? {});
    return several === undefined ? { ...about, kind: "json" } : { ...about, kind: "some", choices: several };
  }
  if (schema.type === "string") return { ...about, kind: "text", long: !isShort(schema.maxLength) && schema.format === undefined };
  return { ...about, kind: lookup(plainKinds, schema.type) ?? "json" };
}

/** A number with too many digits is an object (json.js), which cannot be compared. */
function isShort(length) {
  return typeof length === "number" && length <= 200;
}

const plainKinds = { number: "number", integer: "number", boolean: "yesNo" };

function text(value) {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The values that there are to choose from: [{value, title}]. */
function choicesOf(schema) {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return schema.enum.map((value, place) => ({ value, title: text(schema.enumNames?.[place]) ?? wordOf(value) }));
  }
  const among = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(among) || among.length === 0 || !among.every((one) => object(one) !== undefined && "const" in one)) return undefined;
  return among.map((one) => ({ value: one.const, title: text(one.title) ?? wordOf(one.const) }));
}

function wordOf(value) {
  return typeof value === "string" ? value : showJSON(value);
}

const unreadable = Symbol("what is written is not JSON");

function row(part) {
  const made = makers[part.kind](part);
  if (part.required) made.control?.setAttribute("aria-required", "true");
  const label = h("span", {}, revealed(part.title), part.required ? h("span", { class: "type" }, " needed") : null);
  const one = made.group === undefined ? field(label, made.control, hint(part)) : groupField(label, made, hint(part));
  const read = () => {
    const value = made.read();
    one.error(value === unreadable ? "This is not JSON." : "");
    return value;
  };
  return { name: part.name, field: one, read };
}

function hint({ description, kind }) {
  const all = [description === "" ? null : revealed(description), kind === "json" ? " As JSON." : null].filter((one) => one !== null);
  return all.length === 0 ? undefined : h("span", {}, all);
}

const makers = {
  text(part) {
    const control = part.long ? h("textarea", { rows: 3 }) : h("input", { autocomplete: "off" });
    control.value = typeof part.initial === "string" ? part.initial : "";
    return { control, read: () => (control.value === "" ? undefined : control.value) };
  },
  number(part) {
    const control = h("input", { inputmode: "decimal", autocomplete: "off" });
    control.value = part.initial === undefined ? "" : showJSON(part.initial);
    return { control, read: () => (control.value.trim() === "" ? undefined : numberOf(control.value.trim())) };
  },
  yesNo(part) {
    return chooser({ ...part, choices: [{ value: true, title: "yes" }, { value: false, title: "no" }] });
  },
  one: chooser,
  some(part) {
    const boxes = part.choices.map(({ value }) => h("input", { type: "checkbox", checked: Array.isArray(part.initial) && part.initial.includes(value) }));
    const group = part.choices.map(({ title }, place) => h("label", { class: "choice" }, boxes[place], revealed(title)));
    const chosen = () => part.choices.filter((_, place) => boxes[place].checked).map(({ value }) => value);
    return { group, read: () => (chosen().length === 0 && !part.required ? undefined : chosen()) };
  },
  json(part) {
    const control = h("textarea", { class: "mono", rows: 3, spellcheck: "false" });
    control.value = part.initial === undefined ? "" : showJSON(part.initial);
    return { control, read: () => (control.value.trim() === "" ? undefined : jsonOf(control.value)) };
  },
};

function chooser({ choices, initial, required }) {
  const control = h("select", {}, h("option", { value: "" }, required ? "Choose" : "–"),
    choices.map(({ title }, place) => h("option", { value: place }, revealText(title))));
  const begin = choices.findIndex(({ value }) => value === initial);
  control.value = begin < 0 ? "" : String(begin);
  return { control, read: () => (control.value === "" ? undefined : choices[Number(control.value)].value) };
}

/** What is written where a number belongs, to its last digit; what is none goes as a text, and the server says so. */
function numberOf(written) {
  return /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(written) ? parseJSON(written) : written;
}

function jsonOf(written) {
  try {
    return parseJSON(written);
  } catch {
    return unreadable;
  }
}

function groupField(label, { group }, about) {
  const error = h("p", { class: "error" });
  const element = h("fieldset", {}, h("legend", {}, label), about && h("div", { class: "hint" }, about), group, error);
  return { element, error: (said) => void say(error, said) };
}

function wholeForm() {
  const part = { kind: "json", initial: {} };
  const { control, read } = makers.json(part);
  const one = field("Answer", control, "A JSON object.");
  const value = () => {
    const found = read();
    one.error(found === unreadable || found === undefined ? "This is not JSON." : "");
    return found === unreadable ? undefined : found;
  };
  return { element: one.element, fields: new Map([["/answer", one]]), value };
}
