// What is no item of the API and yet to be seen in its place: a model that fails, an agent that is silent, the end. Pure: words for events.

import { amount, duration, moment, plural, words } from "./format.js";
import { lookup } from "./lookup.js";

/** The words of an event that is a notice: {level: "info" | "warn" | "error", text, detail?}; undefined: it is none. */
export function noticeOf(event) {
  return Object.hasOwn(notices, event.type) ? notices[event.type](event.data) : undefined;
}

/** Events of which the newest says it all, where they come one after the other. */
export const repeating = new Set(["model.retrying", "agent.silent"]);

function info(text, detail) {
  return { level: "info", text, detail };
}

function warn(text, detail) {
  return { level: "warn", text, detail };
}

function failure(text, error, detail) {
  return { level: "error", text, detail: error ? `${error.code}: ${error.message}` : detail };
}

const goesOn = { load: "The agent took its session up again.", fresh: "A new session of the agent got the prompt again.",
  retry: "The request that failed was repeated.", fail: "It was ended." };

const limits = { tokens: "tokens", cost: "cost", toolCalls: "tool calls", seconds: "seconds of active time", events: "events of the log" };

const unrecorded = {
  unavailable: "This execution has no checkpoints: what it changes on disk can neither be shown nor taken back.",
  turnBegins: "No checkpoint could be taken before this turn.",
  beforeToolCall: "No checkpoint could be taken before a call.",
  afterToolCall: "What a call has changed on disk is not known: no checkpoint could be taken after it.",
  turnEnds: "What this turn has changed on disk is not known: no checkpoint could be taken after it.",
};

const notices = {
  "execution.stateChanged": ({ to, reason }) => (to === "interrupted" ? warn("Interrupted: somebody must choose how it continues.", reason) : undefined),
  "prompt.discarded": () => warn("A prompt that waited was not sent: the execution ended before its turn."),
  "turn.continued": ({ mode, by, text }) => info(`${lookup(goesOn, mode) ?? `The turn goes on (${mode}).`}${by ? ` Chosen by ${by.name}.` : ""}`, text),
  "turn.ended": ({ turn, stopReason, error }) => (error ? failure(`Turn ${turn} broke down.`, error) : endedEarly(turn, stopReason)),
  "agent.started": ({ continued }) => (continued ? info("The agent was started again and continues its session.") : undefined),
  "agent.updated": ({ kind, update }) => (kind === "foreignSession" && update?.method
    ? warn("The agent asked something in a session that it has not announced. Nobody was asked: it got the answer that nobody says anything.", String(update.method)) : undefined),
  "agent.exited": ({ message }) => warn("The agent's process has ended; the next prompt starts it again.", message),
  "agent.mcpServerUpdated": ({ server, status, message }) =>
    status === "failed" || status === "notStarted" ? warn(`The agent works without the MCP server ${server}.`, message) : undefined,
  "mcp.serverRestarted": ({ server, message }) => warn(`The MCP server ${server} runs in a new process: everything that it kept in its memory is lost.`, message),
  "agent.modeChanged": ({ mode }) => info(`The agent works in the mode ${mode} from here on.`),
  "agent.silent": ({ seconds }) => warn(`Nothing has come from the agent for ${duration(seconds * 1000)}, although it is its turn.`),
  "model.retrying": ({ attempt, delayMs, at, code, message }) =>
    warn(`The model failed, attempt ${attempt}; asked again after ${duration(delayMs)}${at && delayMs >= 60_000 ? `, ${moment(at)}` : ""}.`, `${code}: ${message}`),
  "model.switched": ({ from, to, code, message }) => warn(`The model ${from} was given up; ${to} is asked from here on.`, `${code}: ${message}`),
  "model.stateDropped": ({ model }) => info(`The model ${model} goes on without its earlier reasoning.`),
  "context.compacted": ({ results, before, after, summary }) =>
    summary ? undefined : // an item
      info(`${plural(results, "old tool result")} cut down for the model: about ${amount(before)} tokens are now ${amount(after)}. The log has them whole.`),
  "context.summaryFailed": ({ model, code, message }) => warn(`The model ${model} could not summarize the conversation; old tool results are cut instead.`, `${code}: ${message}`),
  "checkpoint.created": ({ status, moment, error }) => (status === "taken" ? undefined : warn(lookup(unrecorded, status === "failed" ? moment : status)
    ?? "No checkpoint could be taken.", error?.message)),
  "budget.warned": ({ limit, used, max }) => warn(`Four fifths of the budget are used up: ${amount(used)} of ${amount(max)} (${lookup(limits, limit) ?? limit}).`),
  "delegate.updated": ({ status }) => (status === "interrupted" ? warn("An agent below is interrupted: somebody must choose on its page how it continues.") : undefined),
  "execution.completed": ({ finishReason }) => info(finishReason === "expired" ? "Completed: it was idle for too long." : "Completed."),
  "execution.failed": ({ error, finishReason }) => failure(`Failed (${words(finishReason ?? "error")}).`, error),
  "execution.cancelled": ({ cancelledBy, reason }) => warn(`Cancelled${cancelledBy ? ` by ${cancelledBy.name}` : ""}.`, reason),
  "execution.timedOut": ({ error }) => failure("Timed out: its active time was used up.", error),
};

function endedEarly(turn, reason) {
  return reason === "endTurn" || reason === "end_turn" ? undefined : info(`Turn ${turn} ended: ${words(String(reason))}.`);
}
