// What is known of an execution besides its conversation: the line of numbers at its head, and all that it was asked to be.

import { executionPath } from "./api.js";
import { age, tick } from "./clock.js";
import { attribute, fill, h, say } from "./dom.js";
import { executionEnvironment } from "./environment.js";
import { amount, cost, duration, moment, shortId, words } from "./format.js";
import { showJSON } from "./json.js";
import { reveal } from "./reveal.js";

/** The line that stays in sight: status, round, time, tokens, cost. */
export class Line {
  element;
  #badge = h("span", { class: "badge execution-status" });
  #texts = {};
  #asked = h("span", { class: "spoken", role: "status" });

  constructor(execution) {
    this.element = h("p", { class: "facts-line row" }, this.#badge, this.#asked, this.#fact("below", ""), this.#fact("queue", ""), this.#fact("next", ""), this.#fact("round", ""), this.#fact("turn",
      "turn "), this.#timer(execution), this.#fact("tokens", "tokens "), this.#fact("cost", "cost "));
  }

  #fact(name, label) {
    this.#texts[name] = h("span");
    return h("span", { class: `fact ${name}` }, h("span", { class: "muted" }, label), this.#texts[name]);
  }

  #timer({ createdAt }) {
    const since = Date.parse(createdAt);
    const timer = h("span", { class: "fact timer", title: "from its creation, waiting for people included" });
    return tick(timer, (now) => duration((this.endedAt ?? now) - since));
  }

  /** @param execution as the API shows it @param standing what the log tells */
  show(execution, standing) {
    const { rounds, turn, status } = standing;
    this.endedAt = standing.endedAt === undefined ? undefined : Date.parse(standing.endedAt);
    attribute(this.#badge, "data-status", status);
    say(this.#badge, words(status));
    say(this.#asked, standing.asked.size === 0 ? "" : `${standing.asked.size} to decide`);
    say(this.#texts.below, standing.below.size === 0 ? "" : `${standing.below.size} to decide in its agents`);
    say(this.#texts.queue, status === "queued" && execution.queuePosition ? `number ${amount(execution.queuePosition)} in the queue` : "");
    say(this.#texts.next, nextOf(execution.nextAttempt));
    const most = execution.progress?.maxIterations ?? execution.maxIterations;
    say(this.#texts.round, turn === 0 ? "" : `round ${amount(rounds)} of ${amount(most)}`);
    say(this.#texts.turn, turn === 0 ? "–" : amount(turn));
    const usage = standing.usage ?? execution.usage;
    say(this.#texts.tokens, amount(usage?.totalTokens));
    say(this.#texts.cost, cost(usage?.cost));
    for (const text of Object.values(this.#texts)) text.parentElement.hidden = text.textContent === "";
  }
}

/** When the server goes on by itself, as long as that has not come. */
function nextOf(next) {
  if (!next || Date.parse(next.at) <= Date.now()) return "";
  return `${next.reason === "recovery" ? "its server is gone; another one goes on" : "the model is asked again"} ${moment(next.at)}`;
}

/** All the rest, folded: tokens by kind, capabilities, metadata, settings. */
export class Settings {
  element;
  #usage = h("dl", { class: "facts" });
  #agent = h("dl", { class: "facts" });

  constructor(execution) {
    this.element = h("details", { class: "settings card" }, h("summary", {}, "Settings, capabilities and usage"),
      h("h2", {}, "Settings"), h("dl", { class: "facts" }, settingsOf(execution).map(([name, value]) => fact(name, shown(value)))),
      h("h2", {}, "Agent"), this.#agent, h("h2", {}, "Usage"), this.#usage);
  }

  show(execution, { usage, agent, model, commands, options }) {
    fill(this.#usage, tokens.map(([name, label]) => fact(label,
      name === "cost" ? cost((usage ?? execution.usage)?.cost) : amount((usage ?? execution.usage)?.[name]))));
    const about = { name: agent?.name, version: agent?.version, mode: agent?.mode, model: model ?? agent?.model, "confined by": agent?.sandbox,
      session: agent?.agentSession ?? execution.agentSession };
    fill(this.#agent, Object.entries(about).map(([name, value]) => fact(name, shown(value))),
      options.filter(({ category }) => category !== "mode" && category !== "model").map(({ id, name, current }) => fact(name || id, shown(current))),
      commands.length > 0 && fact("commands",
      commands.map((one) => `/${one.name}`).join(" ")));
  }
}

const tokens = [
  ["inputTokens", "input"], ["outputTokens", "output"], ["reasoningTokens", "reasoning"], ["cacheReadTokens", "read from the cache"],
  ["cacheWriteTokens", "written to the cache"], ["totalTokens", "all tokens"], ["contextUsed", "context used"], ["contextSize", "context size"], ["cost",
    "cost"],
];

/** What stands elsewhere on the page is not repeated; what a newer server adds is shown as well. */
const elsewhere = new Set([
  "id", "status", "prompt", "messages", "usage", "output", "progress", "turn", "queuePosition", "nextAttempt", "pendingApprovals", "pendingToolCalls", "generation",
    "lastSeq", "parent", "createdAt", "sharesFolderWith",
  "updatedAt", "endedAt", "agentSession", "model",
]);

function settingsOf(execution) {
  return Object.entries(execution).filter(([name]) => !elsewhere.has(name)).map(([name, value]) => [words(name), value]);
}

function shown(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return String(value);
  return Object.keys(value).length === 0 ? "none" : showJSON(value);
}

function fact(name, value) {
  return [h("dt", {}, reveal(name)), h("dd", { class: value.includes("\n") ? "mono small lines" : null }, reveal(value))];
}

/** Why it is this model, where neither the request nor the block has named it. */
const named = { runbook: ", chosen for its runbook", default: ", the default" };

/** Who and what: source, folder, id, when. */
export function origin(execution, signal) {
  const { environment, source, model, id, createdAt, workingDirectory, sharesFolderWith } = execution;
  const answers = source.type === "acp" ? source.command : "internal agent";
  return h("p", { class: "origin small muted" }, "by ", h("span", {}, reveal(answers)), source.model && [", model ", h("span", {}, reveal(source.model)), named[model?.from]],
    ", created ",
    age(h("time", { datetime: createdAt, title: moment(createdAt) }), createdAt), " in ", h("span", { class: "mono" }, reveal(workingDirectory)), " · ",
      h("span", { class: "mono" }, id), environment && h("span", { class: "seen" }, executionEnvironment(environment, signal)),
    sharesFolderWith?.length > 0 && h("span", { class: "seen" }, "Also at work in this folder:",
      sharesFolderWith.map((other) => [" ", h("a", { class: "mono", href: `#${executionPath(other)}` }, shortId(other))])));
}
