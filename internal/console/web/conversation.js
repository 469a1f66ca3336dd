// An execution as a conversation: the log in, the items out. It is pure, and makes the same items as the server's reducer
// (internal/events/items, docs/items.md): a test holds the two together over golden logs. The one log that the page follows
// thereby makes both the conversation and the raw feed, and a reload shows what whoever stayed has seen.

import { Growing, Misfit, bounded, boundedJSON, textBytes } from "./bytes.js";
import { Calls } from "./calls.js";
import { Delegates } from "./delegates.js";
import { Points, foundBy, rolledBack } from "./disk.js";
import { noticeOf, repeating } from "./notices.js";
import { Rows } from "./rows.js";
import { Standing } from "./standing.js";

/** Takes the events of one log, each exactly once, in order. */
export class Conversation {
  lastSeq = 0;
  standing = new Standing();
  points = new Points();
  #rows = new Rows();
  #calls = new Calls(this.#rows);
  #delegates = new Delegates(this.#calls);
  #speech = new Map(); // by the item's id: {item, text}
  #blocks; // the newest generation, while it waits for somebody
  #turn = 0; // 0: between two
  #request;

  /** @param request {prompt, messages} of the execution: the first prompt stands there and not in the log */
  constructor(request) {
    this.#request = request;
  }

  /** Items and notices, in the order in which they began. The list is the same in each answer, and grows at its end. */
  rows() {
    return this.#rows.list;
  }

  /** What GET /executions/{id}/items answers. */
  items() {
    return this.#rows.list.filter((row) => row.kind !== "notice");
  }

  /** What allowed a call: {allowedBy, ruleId, reason, sandbox, expiresAt}; undefined: it has not started. */
  originOf(toolCallId) {
    return this.#calls.get(toolCallId)?.origin;
  }

  /** The name of a call's tool; undefined: there is no such call. */
  toolOf(toolCallId) {
    return this.#calls.get(toolCallId)?.tool.tool;
  }

  /** The item of the call that stands for the subagent which made a row's call; undefined: none. */
  parentOf(row) {
    const call = row.tool ?? this.#calls.get(row.diff?.toolCallId)?.tool;
    return this.#calls.get(call?.parentToolCallId)?.item;
  }

  /**
   * Takes the next event and returns the ids of the rows that are new or changed. Types that are not known change nothing; what does not
   * fit throws a Misfit and changes nothing.
   */
  add(event) {
    if (event.seq <= this.lastSeq) return new Set();
    if (event.seq !== this.lastSeq + 1) throw new Misfit(`The log has a hole: event ${event.seq} follows event ${this.lastSeq}.`);
    this.#rows.begin(event);
    if (Object.hasOwn(Conversation.#takes, event.type)) Conversation.#takes[event.type].call(this, event.data);
    this.lastSeq = event.seq;
    this.standing.take(event);
    this.#notice(event);
    return this.#rows.changed;
  }

  static #takes = {
    "execution.created"(data) { this.#begin(data); },
    "turn.started"(data) { this.#prompted(data); },
    "turn.ended"() { this.#turn = 0; },
    "message.delta"(data) { this.#spoke("message", data); },
    "thought.delta"(data) { this.#spoke("reasoning", data); },
    "message.completed"(data) { this.#fellSilent("message", data); },
    "thought.completed"(data) { this.#fellSilent("reasoning", data); },
    "toolCall.requested"(data) { this.#calls.requested(data, this.#turn); },
    "toolCall.queued"(data) { this.#calls.queued(data, this.#turn); },
    "toolCall.started"(data) {
      this.#calls.started(data, this.#turn);
      this.#delegates.awaited(data, this.#turn);
    },
    "toolCall.updated"(data) { this.#calls.printed(data, this.#turn); },
    "toolCall.reported"(data) { this.#calls.reported(data, this.#turn); },
    "toolCall.completed"(data) {
      this.#calls.completed(data, this.#turn);
      this.#delegates.released(data, this.#turn);
    },
    "delegate.started"(data) { this.#delegates.started(data, this.#turn); },
    "delegate.updated"(data) { this.#delegates.updated(data, this.#turn); },
    "delegate.approvalRequested"(data) { this.#delegates.asked(data, this.#turn); },
    "delegate.approvalResolved"(data) { this.#delegates.answered(data, this.#turn); },
    "delegate.returned"(data) { this.#delegates.returned(data, this.#turn); },
    "checkpoint.created"(data) { this.#checkpointed(data); },
    "rollback.completed"(data) {
      this.#rows.add({ id: `rollback:${data.rollback}`, kind: "rollback", turn: data.turn, status: "complete", rollback: rolledBack(data) });
    },
    "approval.requested"(data) { this.#calls.askedAbout(data, this.#turn); },
    "approval.resolved"(data) { this.#calls.answered(data, this.#turn); },
    "blocks.generated"(data) { this.#generated(data); },
    "context.compacted"(data) { this.#summarized(data); },
    "blocks.accepted"(data) { this.#accepted(data); },
    "execution.completed": Conversation.prototype.end,
    "execution.failed": Conversation.prototype.end,
    "execution.cancelled": Conversation.prototype.end,
    "execution.timedOut": Conversation.prototype.end,
  };

  /**
   * The changes that a checkpoint has found are shown below the call after which it was taken, or at the end of a turn. The other checkpoints find the changes of
   * others while no call of the execution ran, or the changes of a rollback.
   */
  #checkpointed(data) {
    this.points.take(data, this.#rows.event.time);
    const found = foundBy(data);
    if (found.changedPaths === 0) return;
    if (data.moment === "turnEnds") this.#rows.add({ id: `changes:${data.checkpoint}`, kind: "changes", turn: data.turn, status: "complete", changes: found });
    else if (data.moment === "afterToolCall" && data.toolCallId) this.#calls.found(data.toolCallId, found, this.#turn);
  }

  /** The last message of the request is what the first turn answers; those before it are the past. */
  #begin(data) {
    this.#calls.external = data.source?.type === "acp";
    const given = (this.#request.messages ?? []).map(({ role, content }) => ({ role, text: content }));
    const { prompt, parts } = this.#request;
    if (prompt || parts) given.push({ role: "user", text: prompt ?? "", parts: parts ?? undefined });
    given.forEach((message, at) => this.#said(at + 1, at === given.length - 1 ? 1 : 0, message));
  }

  #prompted({ turn, promptId, text, parts, edits, repair, delegates }) {
    this.#turn = turn;
    if (!text && !parts) return;
    const message = { role: "user", text: text ?? "", parts: parts ?? undefined, edits: edits || undefined, repair: repair || undefined,
      delegates: delegates ?? undefined };
    this.#said(promptId || `turn${turn}`, turn, message);
  }

  #said(id, turn, message) {
    const { beginning, cut } = bounded(message.text, textBytes);
    Object.assign(message, { text: beginning, truncated: cut || undefined });
    this.#rows.add({ id: `prompt:${id}`, kind: "message", turn, status: "complete", message });
  }

  /** Adds a piece to a message or to reasoning, which may share the id of the model's answer. */
  #spoke(kind, { messageId, turn, offset, text: piece }) {
    const id = `${kind}:${messageId}`;
    const known = this.#speech.get(id);
    const text = known?.text ?? new Growing();
    text.add(offset, piece, id);
    const item = known?.item ?? this.#beginSpeech(kind, id, turn, text);
    Object.assign(item[kind], { text: text.kept, truncated: text.cut || undefined });
    this.#rows.touch(item);
  }

  #beginSpeech(kind, id, turn, text) {
    const said = kind === "message" ? { role: "assistant", text: "" } : { text: "" };
    const item = this.#rows.add({ id, kind, turn, status: "open", [kind]: said });
    this.#speech.set(id, { item, text });
    return item;
  }

  /** A message without a word is nothing to show. */
  #fellSilent(kind, { messageId, interrupted }) {
    const item = this.#speech.get(`${kind}:${messageId}`)?.item;
    if (item === undefined) return;
    item.status = "complete";
    item[kind].interrupted = interrupted || undefined;
    this.#rows.touch(item);
  }

  #generated(data) {
    this.#calls.handedIn(data.toolCallId, this.#turn);
    this.#decide("superseded");
    const { generation, toolCallId, insertAfter, documentRevision } = data;
    const blocks = {
      generation, toolCallId, blocks: boundedJSON(data.blocks), insertAfter: insertAfter || undefined, documentRevision: documentRevision || undefined,
      state: "submitted",
    };
    this.#blocks = this.#rows.add({ id: `blocks:${generation}`, kind: "blocks", turn: data.turn, status: "open", blocks });
  }

  #summarized({ turn, summary, messages, model }) {
    if (!summary) return;
    const { beginning, cut } = bounded(summary, textBytes);
    this.#rows.add({ id: `summary:${this.lastSeq + 1}`, kind: "summary", turn, status: "complete",
      summary: { text: beginning, truncated: cut || undefined, messages, model } });
  }

  #accepted({ generation, by }) {
    if (this.#blocks?.blocks.generation !== generation) return;
    this.#blocks.blocks.acceptedBy = by;
    this.#decide("accepted");
  }

  /** Takes the terminal event. */
  end() {
    this.#decide("cancelled");
    this.#delegates.end(this.#turn);
  }

  /** Says what became of the blocks that wait for somebody. */
  #decide(state) {
    if (this.#blocks === undefined) return;
    this.#blocks.blocks.state = state;
    this.#blocks.status = "complete";
    this.#rows.touch(this.#blocks);
    this.#blocks = undefined;
  }

  #notice(event) {
    const notice = noticeOf(event);
    if (notice === undefined) return;
    const last = this.#rows.list.at(-1);
    if (last?.type === event.type && repeating.has(event.type)) this.#rows.touch(Object.assign(last, { notice }));
    else this.#rows.add({ id: `notice:${event.seq}`, kind: "notice", type: event.type, turn: this.#turn, status: "complete", notice });
  }
}
