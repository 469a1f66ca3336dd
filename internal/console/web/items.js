// How each kind of row of a conversation looks: one function a kind. It makes a view, {element, update(row), leave?()}; update changes only what
// is other than before, so that focus, open details and selections stay. All that models, agents and people say passes through reveal.

import { diffView } from "./diff.js";
import { changesView, rollbackView } from "./diskrows.js";
import { attribute, h, say } from "./dom.js";
import { wholeText } from "./fold.js";
import { plural, words } from "./format.js";
import { showJSON } from "./json.js";
import { lookup } from "./lookup.js";
import { Markdown } from "./markdown.js";
import { FilesView } from "./pictures.js";
import { reveal } from "./reveal.js";
import { article, cutNote, once, remembered, time } from "./rowparts.js";
import { toolView } from "./toolrow.js";

/**
 * Makes the view of a row.
 * @param {object} row an item or a notice
 * @param {object} scene {execution: its id, sight, asked, disk, originOf(toolCallId), parentOf(row), hasEnded(), opened: Map of what the person has opened}
 */
export function viewOf(row, scene) {
  const view = (lookup(kinds, row.kind) ?? unknownView)(row, scene);
  attribute(view.element, "data-id", row.id);
  attribute(view.element, "data-kind", row.kind);
  standBelow(view.element, scene.parentOf(row), scene);
  return view;
}

const deepest = 3; // levels of indentation

/** A call of a subagent is below the call that stands for the subagent, and names it: other calls may come in between. */
function standBelow(element, parent, { parentOf }) {
  if (parent === undefined) return;
  let depth = 1;
  for (let above = parentOf(parent); above !== undefined && depth < deepest; above = parentOf(above)) depth++;
  attribute(element, "data-depth", String(depth));
  element.prepend(h("p", { class: "small muted" }, "Part of ", reveal(parent.tool.summary || parent.tool.tool)));
}

/** About how high a row will be, in pixels. */
export function estimateOf(row) {
  const text = row.message?.text ?? "";
  if (row.kind === "diff") return 90 + 24 * Math.min(200, row.diff.additions + row.diff.deletions);
  return row.kind === "message" ? 60 + 24 * Math.ceil(text.length / 90) : row.kind === "tool" ? 120 + 32 * (row.tool.children?.length ?? 0) + (row.tool.changes ? 40 : 0) : 48;
}

const kinds = { message: messageView, reasoning: reasoningView, tool: toolView, diff: diffItemView, blocks: blocksView, summary: summaryView, changes: changesView,
  rollback: rollbackView, notice: noticeView };

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

// ——— what is said and thought ———

/** What a person wrote is shown letter by letter, since that is what the agent was told; what an agent says is Markdown. */
function messageView(row, { sight, execution }) {
  const isUser = row.message.role === "user";
  const body = isUser ? wholeText(row.message.text, { className: "said" }) : h("div");
  const stream = isUser ? undefined : new Stream(body, sight);
  const files = new FilesView(execution);
  const note = cutNote(row.message.truncated);
  const state = h("span", { class: "small muted" });
  const head = h("div", { class: "row spread" }, h("span", { class: "row" }, h("strong", {}, speaker(row)), state), time(row));
  const element = article(isUser ? "user" : "assistant", head, body, files.element, note);
  const update = ({ message, status }) => {
    files.show(message.parts);
    stream?.show(message.text, status === "complete");
    note.hidden = !message.truncated;
    say(state, message.interrupted ? "cut short; the model does not remember it" : message.edits ? `asks for changes of blocks ${message.edits}` : "");
    element.classList.toggle("interrupted", message.interrupted === true);
  };
  update(row);
  const leave = () => {
    stream?.leave();
    files.leave();
  };
  return { element, update, leave };
}

function speaker({ message }) {
  if (message.repair) return "Signoff asks again: the answer did not fit";
  if (message.delegates) return "Results of other agents";
  return lookup({ user: "User", assistant: "Agent" }, message.role) ?? words(message.role);
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
  return { element: article("diff-item", h("div", { class: "row spread" }, h("span", { class: "row" }, badge, h("span", { class: "small muted" },
    "change of a file")), time(row)), place, note), update };
}

// ——— blocks and notices ———

function blocksView(row, { opened }) {
  const badge = h("span", { class: "badge" });
  const who = h("span", { class: "small muted" });
  const { blocks, generation } = row.blocks;
  const title = h("summary", {}, blocks === null ? "Too long to be shown; the raw events have them" : plural(blocks.length, "block"));
  const body = (blocks ?? []).map((block) => h("div", { class: "stack" }, h("strong", { class: "mono" }, reveal(typeof block?.type === "string" ? block.type : "?")), h("pre",
    { class: "code" }, reveal(showJSON(block?.props ?? block)))));
  const update = ({ blocks: now }) => {
    attribute(badge, "data-status", now.state === "accepted" ? "completed" : now.state);
    say(badge, words(now.state));
    say(who, now.acceptedBy ? `by ${now.acceptedBy.name}` : "");
  };
  update(row);
  return { element: article("blocks", h("div", { class: "row spread" }, h("span", { class: "row" }, h("strong", {}, `Blocks ${generation}`), badge, who),
    time(row)), remembered(row.id, opened, title, body)), update };
}

/** The model wrote it for itself, from what it was told: it is shown letter by letter. */
function summaryView(row, { opened }) {
  const { text, truncated, messages, model } = row.summary;
  const note = cutNote(truncated === true);
  note.hidden = truncated !== true;
  const title = h("summary", {}, `The model summarized ${plural(messages, "message")}, and goes on from that`);
  return { element: article("reasoning", h("div", { class: "row spread" }, h("span", { class: "small muted" }, reveal(model)), time(row)),
    remembered(row.id, opened, title, wholeText(text, { className: "said" }), note)), update() {} };
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
