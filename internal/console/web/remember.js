// How far a decision is remembered. What it would also cover is said in the server's own sentence, whole, below the choice, and always with how
// long it holds: that is what a person signs.

import { attribute, fill, h } from "./dom.js";
import { field } from "./field.js";
import { lookup } from "./lookup.js";
import { revealCall, revealCallText } from "./suspect.js";

const hour = 3600;
const day = 24 * hour;

const names = { execution: "This execution", tree: "The tree", global: "Always" };
const labels = { execution: "For this execution", tree: "For its tree: the root, and all agents below it", global: "Always, in all executions" };
const holding = { execution: "in this execution", tree: "in the root and all agents below it", global: "in all executions" };

const spans = {
  execution: [["", "until this execution ends"], [hour, "for one hour at most"], [8 * hour, "for eight hours at most"]],
  tree: [["", "until the root ends"], [hour, "for one hour at most"], [8 * hour, "for eight hours at most"]],
  global: [["", "for 30 days"], [hour, "for one hour"], [day, "for one day"], [7 * day, "for seven days"], [365 * day, "for a year"]],
};

/**
 * @param {object} approval
 * @param {"approve" | "deny" | "either"} verb what the decision will be; with "either" the option of an agent says it
 * @param {{exactOnly?: boolean}} [limits] with other arguments than the shown ones, only exactly this call can be remembered
 * @returns {{element: HTMLElement | null, value(): object | undefined}} what is sent as `remember`
 */
export function rememberChoice(approval, verb, { exactOnly = false } = {}) {
  const options = offered(approval, exactOnly);
  if (options.length === 0) return { element: null, value: () => undefined };
  const also = h("p", { class: "also", role: "status" });
  const choices = h("select", {}, h("option", { value: "" }, "Only this once"), group("execution", options),
    approval.root ? group("tree", options) : null, group("global", options));
  const what = field("Remember", choices);
  const long = field("For how long", h("select"));
  attribute(long.element, "hidden", true);
  const chosen = () => chosenOf(what.control.value, options);
  what.control.addEventListener("change", () => {
    const choice = chosen();
    attribute(long.element, "hidden", choice === undefined);
    fill(long.control, choice === undefined ? [] : spans[choice.scope].map(([seconds, text]) => h("option", { value: seconds }, text)));
    tell();
  });
  long.control.addEventListener("change", tell);
  const element = h("div", { class: "remember stack" }, h("div", { class: "remembering" }, what.element, long.element), also);
  return { element, value: () => wish(chosen(), long.control.value) };

  function tell() {
    const choice = chosen();
    fill(also, choice === undefined ? [] : [revealCall(sentence(choice.option.description, verb)), " ", ending(choice.scope, long.control)]);
  }
}

function offered(approval, exactOnly) {
  const all = Array.isArray(approval.rememberOptions) ? approval.rememberOptions : [];
  return exactOnly ? all.filter((option) => option.previewId === "exact") : all;
}

function group(scope, options) {
  return h("optgroup", { label: labels[scope] }, options.map((option, place) => h("option", { value: `${scope} ${place}` }, shortName(option, scope))));
}

/** The option in a few words; the sentence below has them all. */
function shortName({ previewId, matcher = {} }, scope) {
  const rules = {
    exact: "exactly this call", command: `commands like ${matcher.command}`, path: "this file", folder: "this folder",
    workingDirectory: "the working directory", host: `host ${matcher.host}`, tool: `all of ${matcher.tool}`,
    mcpServer: `all tools of ${matcher.mcpServer}`, class: `all that is “${matcher.class}”`,
  };
  const name = lookup(rules, previewId) ?? previewId;
  return `${names[scope]}: ${revealCallText(name).slice(0, 80)}`;
}

function chosenOf(value, options) {
  if (value === "") return undefined;
  const [scope, place] = value.split(" ");
  return { scope, option: options[Number(place)] };
}

function wish(choice, seconds) {
  if (choice === undefined) return undefined;
  const wanted = { scope: choice.scope, previewId: choice.option.previewId };
  return seconds === "" ? wanted : { ...wanted, expiresInSeconds: Number(seconds) };
}

/** The server's sentence is about what is allowed. A denial leaves a rule that denies the same. */
function sentence(description, verb) {
  if (verb === "deny") return description.replace(/^This will also allow /, "This will also deny ");
  return verb === "either" ? `${description} With an answer that says no, it denies them instead.` : description;
}

function ending(scope, control) {
  const text = control.selectedOptions[0]?.textContent ?? "";
  return `It holds ${holding[scope]}, ${text}.`;
}
