// Other arguments in place of the shown ones. Texts are edited as they are, all else as JSON; what is not touched is sent on as it came, to the
// last digit and carriage return, which a text field would not keep.

import { editable, membersOf } from "./arguments.js";
import { h } from "./dom.js";
import { field, pointerPart } from "./field.js";
import { parseJSON } from "./json.js";
import { revealed } from "./reveal.js";

/**
 * @param {object} args of the call
 * @returns {{element: HTMLElement, fields: Map<string, object>, value(): object | undefined}} fields by pointer; the value is undefined where
 *   something that should be JSON is not, which stands at its field then
 */
export function argumentsForm(args) {
  const rows = membersOf(args).map(({ name, value }) => row(name, value));
  return {
    element: h("div", { class: "stack" }, rows.map((one) => one.field.element)),
    fields: new Map(rows.map((one) => [`/arguments/${pointerPart(one.name)}`, one.field])),
    value() {
      const values = rows.map((one) => [one.name, one.read()]);
      return values.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(values);
    },
  };
}

function row(name, value) {
  const { text, json } = editable(value);
  const lines = Math.min(12, Math.max(json ? 2 : 3, text.split("\n").length + 1));
  const control = h("textarea", { class: "mono", rows: lines, spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "ltr" });
  control.value = text;
  const begun = control.value; // a browser changes line ends
  const one = field(revealed(name), control, json ? "As JSON" : undefined);
  return { name, field: one, read: () => read(one, control.value === begun ? () => value : json ? () => parseJSON(control.value) : () => control.value) };
}

function read(one, value) {
  try {
    const found = value();
    one.error("");
    return found;
  } catch {
    one.error("This is not JSON.");
    return undefined;
  }
}
