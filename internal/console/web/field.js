// One field of a form: its name, where one writes, what is asked for, and what is wrong with it, tied together for who listens instead of looks.

import { attribute, h, say, uniqueId } from "./dom.js";

/**
 * @param {string | Node} label
 * @param {HTMLElement} control
 * @param {string | Node} [hint]
 * @returns {{element: HTMLElement, control: HTMLElement, error(text: string): void}} error("") takes an error away
 */
export function field(label, control, hint) {
  const id = uniqueId("field");
  const error = h("p", { class: "error", id: `${id}-error` });
  const about = hint === undefined ? null : h("div", { class: "hint", id: `${id}-hint` }, hint);
  control.id = id;
  control.setAttribute("aria-describedby", `${about === null ? "" : `${id}-hint `}${id}-error`);
  return {
    element: h("div", { class: "field" }, h("label", { for: id }, label), about, control, error),
    control,
    error(text) {
      say(error, text);
      attribute(control, "aria-invalid", text !== "" && "true");
    },
  };
}

/**
 * Puts errors of the API at their fields, and returns the rest. `fields` is by pointer; an error deeper than a field belongs to it.
 * @param {Map<string, {error(text: string): void}>} fields
 * @param {Array<{pointer: string, message: string}>} errors
 */
export function showErrors(fields, errors) {
  const said = new Map([...fields.keys()].map((pointer) => [pointer, []]));
  const rest = [];
  for (const { pointer, message } of errors) {
    const of = [...fields.keys()].find((one) => pointer === one || pointer.startsWith(`${one}/`));
    if (of === undefined) rest.push({ pointer, message });
    else said.get(of).push(pointer === of ? message : `${pointer.slice(of.length)}: ${message}`);
  }
  for (const [pointer, texts] of said) fields.get(pointer).error(texts.join(" "));
  return rest;
}

/** A name as a part of a JSON pointer (RFC 6901). */
export function pointerPart(name) {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
