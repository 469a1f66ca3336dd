// The tool calls of a conversation, and what they change in files. Pure; the same as the server's reducer makes of the same events.

import { Growing, bounded, boundedJSON, textBytes } from "./bytes.js";
import { changesOf, maxChanges, reportedContent } from "./changes.js";
import { lookup } from "./lookup.js";

const summaryBytes = 1000;

/** Takes what events tell of calls, and keeps their items in rows. */
export class Calls {
  external = false; // another program answers the prompts: its tools have names and arguments of their own
  #calls = new Map();
  #rows;

  constructor(rows) {
    this.#rows = rows;
  }

  /** A call by its id; undefined: there is none. Its `origin` is what allowed it. */
  get(id) {
    return this.#calls.get(id);
  }

  /** A log names a call by its request first. Where it does not, there is an item all the same: somebody has to see that something ran. */
  #call(id, turn) {
    const known = this.#calls.get(id);
    if (known !== undefined) return known;
    const tool = { toolCallId: id, tool: "", summary: "", arguments: null, status: "requested", output: "", approvals: [] };
    const item = this.#rows.add({ id: `tool:${id}`, kind: "tool", turn, status: "open", tool });
    const call = { item, tool, awaits: undefined, lost: false, outcome: undefined, printed: new Growing(), changes: [], described: undefined, origin: undefined };
    this.#calls.set(id, call);
    return call;
  }

  requested(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    call.item.turn = data.turn;
    Object.assign(call.tool, { messageId: data.messageId || undefined, tool: data.tool, class: data.class || undefined, summary: data.summary,
      arguments: boundedJSON(data.arguments), mcp: data.mcp ?? undefined, parentToolCallId: data.parentToolCallId || undefined });
    this.#settle(call);
    this.#readChanges(call);
  }

  /** An external agent often says only with its question what the call is about. */
  askedAbout(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    call.queued = false;
    call.lost ||= data.kind === "unknownOutcome" || data.repeats === true;
    Object.assign(call.tool, { tool: data.tool, summary: data.summary, arguments: boundedJSON(data.arguments) });
    call.tool.approvals.push({ id: data.approvalId, kind: data.kind, status: "pending", decidedBy: null });
    this.#settle(call);
    this.#readChanges(call);
  }

  answered(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    const approval = call.tool.approvals.find((one) => one.id === data.approvalId);
    const { status, edited, reason, resolution, decidedBy = null } = data;
    if (approval !== undefined) Object.assign(approval, { status, edited: edited || undefined, reason: reason || undefined, resolution: resolution
      || undefined, decidedBy });
    this.#settle(call);
  }

  queued(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    call.queued = true;
    this.#settle(call);
  }

  started(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    const { allowedBy, ruleId, reason, sandbox, expiresAt } = data;
    Object.assign(call, { queued: false, awaits: data.awaits, lost: false, origin: { allowedBy, ruleId, reason, sandbox, expiresAt } });
    call.tool.arguments = boundedJSON(data.arguments);
    this.#begun(call);
    this.#readChanges(call);
  }

  /** Blocks were handed in: that was all that the call had to run. */
  handedIn(id, turn) {
    this.#begun(this.#call(id, turn));
  }

  #begun(call) {
    call.tool.startedAt = this.#rows.event.time;
    this.#settle(call);
  }

  /** Shows a child by a call that has created it or waits for it. */
  showChild(id, child, turn) {
    const { item, tool } = this.#call(id, turn);
    const shown = (tool.children ??= []);
    const at = shown.findIndex(({ executionId }) => executionId === child.executionId);
    shown.splice(at < 0 ? shown.length : at, 1, { ...child });
    this.#rows.touch(item);
  }

  printed(data, turn) {
    const known = this.#calls.get(data.toolCallId);
    const printed = known?.printed ?? new Growing();
    printed.add(data.offset, data.output, `output of ${data.toolCallId}`);
    const call = known ?? this.#call(data.toolCallId, turn);
    call.printed = printed;
    if (call.outcome === undefined) {
      Object.assign(call.tool, { output: printed.kept, truncated: printed.cut || undefined, progress: data.progress ?? call.tool.progress });
    }
    this.#rows.touch(call.item);
  }

  /** A call that a person was asked about stays as it was shown: no agent may put other words below somebody's name. */
  reported(data, turn) {
    const told = data.update ?? {};
    if (typeof told !== "object" || Array.isArray(told)) return;
    const call = this.#call(data.toolCallId, turn);
    if (call.tool.approvals.length === 0) describeBy(told, call.tool);
    const { said, diffs } = reportedContent(told.content);
    if (call.outcome === undefined && said.length > 0) setOutput(call.tool, said.join("\n"));
    this.#rows.touch(call.item);
    if (diffs.length > 0) this.#describe(call, diffs);
  }

  /** Where the result only repeats the error, what was printed until then stays: it is all that is left of it. */
  completed(data, turn) {
    const call = this.#call(data.toolCallId, turn);
    call.outcome = data.outcome;
    call.tool.progress = undefined;
    if (call.tool.output === "" || !data.error || data.output !== data.error.message) setOutput(call.tool, data.output, data.truncated);
    Object.assign(call.tool, { exitCode: data.exitCode ?? undefined, durationMs: data.durationMs || undefined, error: data.error ?? undefined });
    call.tool.files = data.files ?? undefined;
    this.#settle(call);
    this.#settleChanges(call);
  }

  /** A checkpoint after the call has found changes on disk. */
  found(toolCallId, found, turn) {
    const { item, tool } = this.#call(toolCallId, turn);
    tool.changes = [...(tool.changes ?? []), found];
    this.#rows.touch(item);
  }

  #settle(call) {
    call.tool.status = statusOf(call);
    if (call.outcome !== undefined) call.item.status = "complete";
    this.#rows.touch(call.item);
  }

  #readChanges(call) {
    const { tool } = call;
    if ((this.external && tool.tool !== "writeTextFile") || tool.class !== "write") return;
    const values = JSON.stringify(tool.arguments);
    if (values === call.described) return;
    const diffs = changesOf(tool.tool, tool.arguments);
    if (diffs === undefined) return;
    call.described = values;
    this.#describe(call, diffs);
  }

  #describe(call, diffs) {
    for (const known of call.changes) known.current = false;
    const places = new Map();
    for (const diff of diffs.slice(0, maxChanges)) {
      const place = (places.get(diff.path) ?? 0) + 1;
      places.set(diff.path, place);
      const known = this.#change(call, diff.path, place);
      if (known === undefined) continue;
      known.current = true;
      this.#show(known, diff);
    }
    this.#settleChanges(call);
  }

  /** Finds a diff of a call again, by its path and the how manieth of that path it is, or begins one; undefined: there are too many. */
  #change(call, path, place) {
    const known = call.changes.find((one) => one.path === path && one.place === place);
    if (known !== undefined || call.changes.length === maxChanges) return known;
    const id = `diff:${call.tool.toolCallId}:${call.changes.length + 1}`;
    const diff = { toolCallId: call.tool.toolCallId, path, diff: "", additions: 0, deletions: 0, status: "proposed" };
    const begun = { path, place, current: true, diff, item: this.#rows.add({ id, kind: "diff", turn: call.item.turn, status: "open", diff }) };
    call.changes.push(begun);
    return begun;
  }

  #show(known, { diff: full, additions, deletions }) {
    const { beginning, cut } = bounded(full, textBytes);
    const shown = known.diff;
    if (beginning === shown.diff && additions === shown.additions && deletions === shown.deletions) return;
    Object.assign(shown, { diff: beginning, truncated: cut || undefined, additions, deletions });
    this.#rows.touch(known.item);
  }

  #settleChanges(call) {
    for (const known of call.changes) {
      const status = known.current ? outcomeOf(call.outcome) : "failed";
      if (status === known.diff.status) continue;
      known.diff.status = status;
      known.item.status = status === "proposed" ? "open" : "complete";
      this.#rows.touch(known.item);
    }
  }
}

function describeBy(told, tool) {
  if (typeof told.title === "string" && told.title !== "") tool.summary = bounded(told.title, summaryBytes).beginning;
  const input = told.rawInput;
  if (input !== null && typeof input === "object" && !Array.isArray(input)) tool.arguments = boundedJSON(input);
}

function setOutput(tool, output, alsoCut = false) {
  const { beginning, cut } = bounded(output, textBytes);
  Object.assign(tool, { output: beginning, truncated: cut || alsoCut || undefined });
}

/** The first that holds. An external agent may ask about a call that it has begun already. */
function statusOf({ tool, outcome, queued, lost, awaits }) {
  if (outcome !== undefined) return outcome;
  if (tool.approvals.some((approval) => approval.status === "pending")) return "pendingApproval";
  if (queued) return "queued";
  if (tool.startedAt === undefined || lost) return "requested";
  return lookup({ client: "waitingForClient", delegate: "waitingForDelegate" }, awaits) ?? "running";
}

function outcomeOf(outcome) {
  if (outcome === undefined) return "proposed";
  return lookup({ succeeded: "applied", outcomeUnknown: "outcomeUnknown" }, outcome) ?? "failed";
}
