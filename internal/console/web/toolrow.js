// A tool call in a conversation: what is called, with what, who let it, what it prints, what became of it. Approvals that wait stand in their place.

import { argumentsView } from "./arguments.js";
import { Children } from "./children.js";
import { tick } from "./clock.js";
import { DiskChanges } from "./diskrows.js";
import { attribute, fill, h, say } from "./dom.js";
import { duration, measured, words } from "./format.js";
import { showJSON } from "./json.js";
import { lookup } from "./lookup.js";
import { FilesView } from "./pictures.js";
import { Printed } from "./printed.js";
import { progressLine } from "./progress.js";
import { reveal } from "./reveal.js";
import { article, once, remembered, time } from "./rowparts.js";
import { revealedCall } from "./suspect.js";

/** The view of a call: {element, update(row), leave()}. */
export function toolView(row, scene) {
  const parts = {
    badge: h("span", { class: "badge" }), about: h("span", { class: "row" }), summary: h("p", { class: "summary" }), facts: h("p",
      { class: "small muted facts-line" }),
    progress: h("p", { class: "small muted call-progress" }), timer: h("span", { class: "small muted" }), asks: h("div", { class: "stack" }), error: h("p", { class: "error" }), children: new Children(), printed: new Printed(), files: new FilesView(scene.execution), note: h("p",
      { class: "notice warn small" }), disk: diskOf(row, scene),
  };
  const args = argumentsDetails(row, scene.opened);
  const element = article("tool",
    h("div", { class: "row spread" }, h("span", { class: "row" }, parts.badge, parts.about), h("span", { class: "row" }, parts.timer, time(row))),
    parts.summary, args.element, parts.children.element, parts.asks, parts.progress, parts.printed.element, parts.files.element, parts.note, parts.error, parts.disk.element, parts.facts);
  const update = (next) => {
    args.update(next);
    updateTool(parts, next, scene);
  };
  update(row);
  return { element, update, leave: () => parts.files.leave() };
}

function updateTool(parts, { tool }, scene) {
  attribute(parts.badge, "data-status", tool.status);
  say(parts.badge, words(tool.status));
  once(parts.about, tool.tool + tool.class, () => [h("strong", { class: "mono" }, revealedCall(tool.tool || "unknown tool")), tool.class && h("span",
    { class: "badge class" }, words(tool.class))]);
  once(parts.summary, tool.summary, () => revealedCall(tool.summary));
  parts.summary.hidden = !tool.summary || tool.summary === tool.tool;
  updateTimer(parts.timer, tool);
  parts.children.show(tool.children, scene.hasEnded());
  updateAsks(parts.asks, tool, scene);
  const progress = progressLine(tool.progress);
  once(parts.progress, progress, () => reveal(progress));
  parts.progress.hidden = progress === "";
  parts.printed.show(tool.error && tool.output === tool.error.message ? "" : tool.output);
  parts.files.show(tool.files);
  parts.disk.show(tool.changes);
  say(parts.note, noteOf(tool));
  parts.note.hidden = noteOf(tool) === "";
  once(parts.error, showJSON(tool.error ?? null), () => (tool.error ? reveal(`${tool.error.code}: ${tool.error.message}`) : ""));
  once(parts.facts, factsOf(tool, scene.originOf(tool.toolCallId)), (text) => reveal(text));
}

function diskOf(row, scene) {
  const { toolCallId } = row.tool;
  return new DiskChanges(row.id, scene, () => ({ query: { toolCallId }, point: scene.disk.points.beforeCall(toolCallId), what: "this call" }));
}

/** What a person should know of a call besides its status. */
function noteOf(tool) {
  if (tool.status === "queued") return "It has not begun: it waits until other commands of this server have ended.";
  if (tool.status === "outcomeUnknown") return "The outcome of this call is unknown: it may have run when the server stopped.";
  return tool.truncated ? "A part of the output is missing here. The raw events have all that is kept." : "";
}

function updateTimer(timer, tool) {
  const running = ["running", "waitingForClient", "waitingForDelegate"].includes(tool.status);
  if (running && timer.dataset.since !== tool.startedAt) {
    timer.dataset.since = tool.startedAt;
    const since = Date.parse(tool.startedAt);
    tick(timer, (now) => (timer.dataset.since === tool.startedAt ? duration(now - since) : timer.textContent));
  }
  if (running) return;
  timer.dataset.since = "";
  say(timer, tool.durationMs ? measured(tool.durationMs) : "");
}

function updateAsks(asks, tool, { asked }) {
  tool.approvals.forEach((approval, at) => {
    const place = asks.children[at] ?? asks.appendChild(h("div", { data: { approval: approval.id } }));
    const card = asked.card(approval);
    if (card !== undefined && card.parentNode !== place) fill(place, card);
    else if (card === undefined) once(place, showJSON(approval), () => h("p", { class: "small" }, decisionOf(approval)));
  });
}

/** How an approval ended, in a line. */
function decisionOf({ status, decidedBy, reason, edited, resolution }) {
  if (status === "pending") return "Waits for a person.";
  const who = decidedBy ? ` by ${decidedBy.name}` : "";
  const how = `${words(status)}${who}${edited ? ", with other arguments" : ""}${resolution ? `, ${words(resolution)}` : ""}${reason ? `: ${reason}` : ""}`;
  return reveal(how[0].toUpperCase() + how.slice(1));
}

function factsOf(tool, origin) {
  const exit = tool.exitCode === undefined ? "" : `exit code ${tool.exitCode}`;
  const asked = tool.approvals.length > 0;
  const allowed = origin === undefined || (asked
    && origin.allowedBy === "decision") ? ""
    : `${lookup(allowing, origin.allowedBy) ?? `allowed by ${words(String(origin.allowedBy))}`}${origin.reason ? ` (${origin.reason})` : ""}`;
  const confined = origin?.sandbox ? `confined by ${origin.sandbox}` : "";
  return [exit, allowed, confined].filter((fact) => fact !== "").join(" · ");
}

const allowing = {
  agent: "the agent did not ask: nobody signed it off", bashPolicy: "allowed by the rules for commands", capability: "allowed by its capabilities",
    decision: "allowed by a person",
  rule: "allowed by a permission rule", safeModeOff: "allowed since safe mode is off", tools: "allowed by its settings of tools",
};

/** The arguments, which are made only where somebody looks at them. */
function argumentsDetails(row, opened) {
  const place = h("div");
  const element = remembered(`${row.id}:arguments`, opened, h("summary", {}, "Arguments"), place);
  let newest = row;
  const update = (next) => {
    newest = next;
    if (element.open) once(place, showJSON(next.tool.arguments), () => argumentsView(next.tool.tool, next.tool.arguments));
  };
  element.addEventListener("toggle", () => update(newest));
  return { element, update };
}
