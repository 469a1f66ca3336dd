// How each kind of row of a conversation looks: one function a kind. It makes a view, {element, update(row), leave?()}; update changes only what
// is other than before, so that focus, open details and selections stay. All that models, agents and people say passes through reveal.

import { argumentsView } from "./arguments.js";
import { tick } from "./clock.js";
import { diffView } from "./diff.js";
import { attribute, fill, h, say } from "./dom.js";
import { wholeText } from "./fold.js";
import { duration, measured, moment, plural, words } from "./format.js";
import { showJSON } from "./json.js";
import { Markdown } from "./markdown.js";
import { Printed } from "./printed.js";
import { reveal, revealed } from "./reveal.js";

/**
 * Makes the view of a row.
 * @param {object} row an item or a notice
 * @param {object} scene {sight, asked, originOf(toolCallId), opened: Map of what the person has opened}
 */
export function viewOf(row, scene) {
  const view = (kinds[row.kind] ?? unknownView)(row, scene);
  attribute(view.element, "data-id", row.id);
  attribute(view.element, "data-kind", row.kind);
  return view;
}

/** About how high a row will be, in pixels. */
export function estimateOf(row) {
  const text = row.message?.text ?? "";
  if (row.kind === "diff") return 90 + 24 * Math.min(200, row.diff.additions + row.diff.deletions);
  return row.kind === "message" ? 60 + 24 * Math.ceil(text.length / 90) : row.kind === "tool" ? 120 : 48;
}

const kinds = { message: messageView, reasoning: reasoningView, tool: toolView, diff: diffItemView, blocks: blocksView, notice: noticeView };

function article(name, ...children) {
  return h("article", { class: `item ${name}` }, children);
}

function time(row) {
  return h("time", { class: "muted small", datetime: row.createdAt, title: moment(row.createdAt) }, new Date(row.createdAt).toLocaleTimeString());
}

/** A text that streams into an element. */
class Stream {
  #markdown;
  #length = 0;
  #ended = false;

  constructor(element, sight) {
    this.#markdown = new Markdown(element, sight);
  }

  show(text, complete) {
    if (text.length > this.#length) this.#markdown.append(text.slice(this.#length));
    this.#length = text.length;
    if (complete && !this.#ended) this.#markdown.end();
    this.#ended ||= complete;
  }

  leave() {
    this.#markdown.leave();
  }
}

function cutNote(cut) {
  return h("p", { class: "notice warn small", hidden: !cut }, "Only the beginning is shown; the raw events have the rest.");
}

// ——— what is said and thought ———

/** What a person wrote is shown letter by letter, since that is what the agent was told; what an agent says is Markdown. */
function messageView(row, { sight }) {
  const isUser = row.message.role === "user";
  const body = isUser ? wholeText(row.message.text, "said") : h("div");
  const stream = isUser ? undefined : new Stream(body, sight);
  const note = cutNote(row.message.truncated);
  const state = h("span", { class: "small muted" });
  const head = h("div", { class: "row spread" }, h("span", { class: "row" }, h("strong", {}, speaker(row)), state), time(row));
  const element = article(isUser ? "user" : "assistant", head, body, note);
  const update = ({ message, status }) => {
    stream?.show(message.text, status === "complete");
    note.hidden = !message.truncated;
    say(state, message.interrupted ? "cut short; the model does not remember it" : message.edits ? `asks for changes of blocks ${message.edits}` : "");
    element.classList.toggle("interrupted", message.interrupted === true);
  };
  update(row);
  return { element, update, leave: () => stream?.leave() };
}

function speaker({ message }) {
  if (message.repair) return "Signoff asks again: the answer did not fit";
  return { user: "User", assistant: "Agent" }[message.role] ?? words(message.role);
}

function reasoningView(row, { sight, opened }) {
  const body = h("div", { class: "thoughts" });
  const note = cutNote(false);
  const title = h("summary", {}, "Thinking");
  const details = remembered(row.id, opened, title, body, note);
  const stream = new Stream(body, sight);
  const update = (next) => {
    say(title, `Thinking${next.status === "open" ? " …" : next.reasoning.interrupted ? ", cut short" : ""}`);
    note.hidden = !next.reasoning.truncated;
    stream.show(next.reasoning.text, next.status === "complete");
  };
  update(row);
  return { element: article("reasoning", details), update, leave: () => stream.leave() };
}

/** Details that are open when their row comes back into sight, if the person has left them open. */
function remembered(id, opened, ...children) {
  const details = h("details", { open: opened.get(id) === true }, children);
  details.addEventListener("toggle", () => opened.set(id, details.open));
  return details;
}

// ——— tools ———

function toolView(row, scene) {
  const parts = {
    badge: h("span", { class: "badge" }), about: h("span", { class: "row" }), summary: h("p", { class: "summary" }), facts: h("p", { class: "small muted facts-line" }),
    timer: h("span", { class: "small muted" }), asks: h("div", { class: "stack" }), error: h("p", { class: "error" }), printed: new Printed(), note: h("p", { class: "notice warn small" }),
  };
  const args = argumentsDetails(row, scene.opened);
  const element = article("tool",
    h("div", { class: "row spread" }, h("span", { class: "row" }, parts.badge, parts.about), h("span", { class: "row" }, parts.timer, time(row))),
    parts.summary, args.element, parts.asks, parts.printed.element, parts.note, parts.error, parts.facts);
  const update = (next) => {
    args.update(next);
    updateTool(parts, next, scene);
  };
  update(row);
  return { element, update };
}

function updateTool(parts, { tool }, scene) {
  attribute(parts.badge, "data-status", tool.status);
  say(parts.badge, words(tool.status));
  once(parts.about, tool.tool + tool.class, () => [h("strong", { class: "mono" }, revealed(tool.tool || "unknown tool")), tool.class && h("span", { class: "badge class" }, words(tool.class))]);
  once(parts.summary, tool.summary, () => revealed(tool.summary));
  parts.summary.hidden = !tool.summary || tool.summary === tool.tool;
  updateTimer(parts.timer, tool);
  updateAsks(parts.asks, tool, scene);
  parts.printed.show(tool.error && tool.output === tool.error.message ? "" : tool.output);
  say(parts.note, unsure(tool));
  parts.note.hidden = unsure(tool) === "";
  once(parts.error, showJSON(tool.error ?? null), () => (tool.error ? reveal(`${tool.error.code}: ${tool.error.message}`) : ""));
  once(parts.facts, factsOf(tool, scene.originOf(tool.toolCallId)), (text) => reveal(text));
}

/** Fills an element anew where what it says is something else. */
const filled = new WeakMap();
function once(element, text, make) {
  if (filled.get(element) === text) return;
  filled.set(element, text);
  fill(element, make(text));
}

function unsure(tool) {
  if (tool.status === "outcomeUnknown") return "Nobody knows what became of this call: it may have run when the server stopped.";
  return tool.truncated ? "Of the output a part is missing here; the raw events have the rest." : "";
}

function updateTimer(timer, tool) {
  const running = tool.status === "running" || tool.status === "waitingForClient";
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
  const allowed = origin === undefined || (asked && origin.allowedBy === "person") ? "" : `allowed by ${words(String(origin.allowedBy))}${origin.reason ? ` (${origin.reason})` : ""}`;
  const confined = origin?.sandbox ? `confined by ${origin.sandbox}` : "";
  return [exit, allowed, confined].filter((fact) => fact !== "").join(" · ");
}

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

function diffItemView(row) {
  const badge = h("span", { class: "badge" });
  const place = h("div");
  const note = cutNote(false);
  const update = ({ diff }) => {
    attribute(badge, "data-status", diff.status);
    say(badge, diff.status === "failed" ? "not made" : words(diff.status));
    note.hidden = !diff.truncated;
    once(place, `${diff.path}\n${diff.additions}\n${diff.deletions}\n${diff.diff}`, () => diffView(diff.diff, diff));
  };
  update(row);
  return { element: article("diff-item", h("div", { class: "row spread" }, h("span", { class: "row" }, badge, h("span", { class: "small muted" }, "change of a file")), time(row)), place, note), update };
}

// ——— blocks and notices ———

function blocksView(row, { opened }) {
  const badge = h("span", { class: "badge" });
  const who = h("span", { class: "small muted" });
  const { blocks, generation } = row.blocks;
  const title = h("summary", {}, blocks === null ? "Too long to be shown; the raw events have them" : plural(blocks.length, "block"));
  const body = (blocks ?? []).map((block) => h("div", { class: "stack" }, h("strong", { class: "mono" }, reveal(String(block?.type ?? "?"))), h("pre", { class: "code" }, reveal(showJSON(block?.props ?? block)))));
  const update = ({ blocks: now }) => {
    attribute(badge, "data-status", now.state === "accepted" ? "completed" : now.state);
    say(badge, words(now.state));
    say(who, now.acceptedBy ? `by ${now.acceptedBy.name}` : "");
  };
  update(row);
  return { element: article("blocks", h("div", { class: "row spread" }, h("span", { class: "row" }, h("strong", {}, `Blocks ${generation}`), badge, who), time(row)), remembered(row.id, opened, title, body)), update };
}

function noticeView(row) {
  const words = h("p");
  const detail = h("p", { class: "small" });
  const element = article("notice", words, detail);
  const update = ({ notice }) => {
    element.className = `item notice ${notice.level === "info" ? "" : notice.level}`;
    once(words, notice.text, () => reveal(notice.text));
    once(detail, notice.detail ?? "", (text) => reveal(text));
    detail.hidden = !notice.detail;
  };
  update(row);
  return { element, update };
}

/** A kind that this console does not know yet, plainly. */
function unknownView(row) {
  const body = h("pre", { class: "code" });
  const update = (next) => once(body, showJSON(next), (text) => reveal(text));
  update(row);
  return { element: article("unknown", h("strong", {}, reveal(words(String(row.kind)))), body), update };
}
