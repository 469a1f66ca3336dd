// A form whose fields show what the API has against them. An error stands at the field that it is about, is read with it, and goes
// when the field is changed; one without a field stands at the top. Focus goes to the first.

import { belongs } from "./body.js";
import { attribute, fill, h, say, uniqueId } from "./dom.js";
import { revealText, revealed } from "./reveal.js";

/** One control with its label, its hint and its error. */
export class Field {
  /**
   * @param {object} spec of fields.js
   * @param {object} more options: [{value, text}] make it a select; placeholder; note: an element below it
   */
  constructor(spec, { options, placeholder = spec.placeholder, hint = spec.hint, note } = {}) {
    this.spec = spec;
    this.control = control(spec, options, placeholder);
    this.control.id = uniqueId(spec.name);
    this.error = h("p", { class: "error", id: uniqueId("error") });
    const help = hint === undefined ? null : h("p", { class: "hint", id: uniqueId("hint") }, hint);
    attribute(this.control, "aria-describedby", [help?.id, this.error.id].filter(Boolean).join(" "));
    const label = h("label", { for: this.control.id }, spec.label);
    const head = spec.kind === "check" ? h("div", { class: "choice" }, this.control, label) : [label, this.control];
    this.element = h("div", { class: `field field-${spec.name}` }, head, note, help, this.error);
    this.element.addEventListener("input", () => this.complain([]));
  }

  get value() {
    return this.spec.kind === "check" ? this.control.checked : this.control.value;
  }

  set value(value) {
    if (this.spec.kind === "check") this.control.checked = value === true;
    else setText(this.control, value ?? "");
  }

  /** Shows what is wrong with it; an empty list takes it away. */
  complain(messages) {
    say(this.error, messages.join(" "));
    attribute(this.control, "aria-invalid", messages.length > 0 ? "true" : null);
  }

  focus() {
    this.control.focus();
  }
}

/** A select keeps a value that it does not offer: what an earlier execution had is not changed into something else. */
function setText(control, value) {
  if (control.tagName === "SELECT" && ![...control.options].some((option) => option.value === value)) {
    control.append(h("option", { value }, `${revealText(value)} (not in the list)`));
  }
  control.value = value;
}

function control(spec, options, placeholder) {
  const all = { name: spec.name, autocomplete: "off", placeholder };
  if (options !== undefined) return h("select", { name: spec.name }, options.map(({ value, text }) => h("option", { value }, text)));
  if (spec.kind === "check") return h("input", { type: "checkbox", name: spec.name });
  if (spec.rows !== undefined) return h("textarea", { ...all, rows: spec.rows, ...(spec.kind === "text" ? {} : { class: "mono", spellcheck: "false" }) });
  return h("input", { ...all, type: "text", inputmode: spec.kind === "number" ? "decimal" : null, spellcheck: "false" });
}

/** The fields of a form by their names, in the order in which they stand. */
export class Fields {
  constructor(fields) {
    this.all = fields;
    this.top = h("div", { class: "notice error", tabindex: "-1", role: "alert", hidden: true });
  }

  get values() {
    return Object.fromEntries(this.all.map((field) => [field.spec.name, field.value]));
  }

  set values(values) {
    for (const field of this.all) field.value = values[field.spec.name];
  }

  named(name) {
    return this.all.find((field) => field.spec.name === name);
  }

  /** Shows errors of the API at their fields, and what has no field at the top, below `message`; and brings the focus to the first. */
  complain(errors, message) {
    const { placed, rest } = place(errors, this.all.map((field) => field.spec), this.values);
    for (const field of this.all) field.complain(placed.get(field.spec.name) ?? []);
    const first = this.all.find((field) => placed.has(field.spec.name));
    this.atTop(first === undefined || rest.length > 0 ? message : "", rest);
    const at = first ?? this.top;
    (at.element ?? at).closest("details")?.setAttribute("open", "");
    at.focus();
  }

  atTop(message, errors) {
    attribute(this.top, "hidden", message === "");
    const list = errors.map((error) => h("li", {}, revealed(`${error.pointer}: ${error.message}`)));
    fill(this.top, h("p", {}, revealed(message)), list.length === 0 ? null : h("ul", {}, list));
  }

  /** Takes all errors away. */
  forgive() {
    for (const field of this.all) field.complain([]);
    attribute(this.top, "hidden", true);
  }
}

/**
 * Finds the field of each error: {placed: Map(name → messages), rest}. A pointer belongs to the field that points at it or at what it is in.
 * One of a member that has no field belongs to "further" where something stands there.
 */
export function place(errors, specs, values) {
  const placed = new Map();
  const rest = [];
  for (const error of errors) {
    const spec = owner(error.pointer, specs, values);
    if (spec === undefined) rest.push(error);
    else placed.set(spec.name, [...(placed.get(spec.name) ?? []), messageAt(spec, error)]);
  }
  return { placed, rest };
}

function owner(pointer, specs, values) {
  const ofFile = /^\/prompt\/\d/.test(pointer ?? "") && (values.files ?? []).length > 0;
  const holds = (spec) => (spec.kind === "files" ? ofFile : isAt(spec, pointer));
  const found = specs.find((spec) => belongs(spec, values.type) && holds(spec));
  if (found !== undefined) return found;
  const isMember = pointer === null || pointer.startsWith("/");
  return isMember && (values.further ?? "") !== "" ? specs.find((spec) => spec.pointer === null) : undefined;
}

function isAt(spec, pointer) {
  return pointer === spec.pointer || (spec.pointer !== null && pointer?.startsWith(`${spec.pointer}/`));
}

function messageAt(spec, { pointer, message }) {
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  if (pointer === spec.pointer || spec.kind === "files") return sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return `${pointer.slice(1 + (spec.pointer?.length ?? 0))}: ${sentence}`;
}
