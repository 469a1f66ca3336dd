// The prompts of an MCP server, each with a form for its arguments. The server fills one in, and the form of a new execution opens with the text, which a person
// reads and may change before it is sent.

import { Problem, post } from "./api.js";
import { fill, h } from "./dom.js";
import { field, pointerPart, showErrors } from "./field.js";
import { plural } from "./format.js";
import { busy, isBusy } from "./loading.js";
import { reveal, revealText, revealed } from "./reveal.js";
import { hand } from "./template.js";

/** What is below the tools of a server; null where it has no prompts. */
export function promptsView({ name, prompts = [], promptsError }, signal) {
  if (promptsError !== undefined) return h("p", { class: "reason" }, revealed(promptsError));
  if (prompts.length === 0) return null;
  return h("details", { class: "prompts" }, h("summary", {}, plural(prompts.length, "prompt")),
    h("div", { class: "stack" }, prompts.map((prompt) => promptCard(name, prompt, signal))));
}

function promptCard(server, prompt, signal) {
  const fields = new Map(prompt.arguments.map((argument) => [`/arguments/${pointerPart(argument.name)}`, argumentField(argument)]));
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", {}, "Open as a new execution", h("span", { class: "off-screen" }, ` the prompt ${revealText(prompt.name)}`));
  const submit = (event) => {
    event.preventDefault();
    void open(server, prompt, { fields, error, button, signal });
  };
  return h("section", { class: "tool stack" },
    h("h4", { class: "row" }, h("code", {}, revealed(prompt.name)), prompt.title === "" ? null : h("span", {}, revealed(prompt.title))),
    prompt.description === "" ? null : h("p", { class: "told small" }, revealed(prompt.description)),
    h("form", { class: "stack", novalidate: true, on: { submit } }, [...fields.values()].map((one) => one.element), h("div", { class: "row" }, button), error));
}

function argumentField({ name, title, description, required }) {
  const label = h("span", {}, reveal(title || name), required ? "" : " (optional)");
  return { name, ...field(label, h("textarea", { rows: 1 }), description === "" ? undefined : h("span", {}, reveal(description))) };
}

async function open(server, prompt, { fields, error, button, signal }) {
  if (isBusy(button)) return;
  busy(button, true);
  fill(error);
  for (const one of fields.values()) one.error("");
  try {
    const rendered = await post(`/mcp-servers/${encodeURIComponent(server)}/prompts/${encodeURIComponent(prompt.name)}`, { arguments: givenBy(fields.values()) }, { signal });
    hand(rendered, server, prompt.name);
    location.hash = "#/new";
  } catch (problem) {
    if (!(problem instanceof Problem)) {
      if (problem.name !== "AbortError") throw problem;
      return;
    }
    const rest = showErrors(fields, problem.errors);
    if (rest.length > 0 || problem.errors.length === 0) fill(error, revealed(problem.message));
  } finally {
    busy(button, false);
  }
}

/** An argument that is left empty is not given: the server has a default, or the answer says that it is missing. */
function givenBy(fields) {
  return Object.fromEntries([...fields].filter((one) => one.control.value !== "").map((one) => [one.name, one.control.value]));
}
