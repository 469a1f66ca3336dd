// Times, durations and amounts in words. All are short, and end in what a screen reader says right.

/** 5 s, 3 min, 2 h 5 min, 4 d. */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** 840 ms, 1.4 s, 3 min 5 s: of what was measured. */
export function measured(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds < 3_600_000) return `${Math.floor(milliseconds / 60_000)} min ${Math.floor((milliseconds % 60_000) / 1000)} s`;
  return duration(milliseconds);
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A point in time, to the second, as the person's own settings have it. */
export function moment(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : full.format(date);
}

const numbers = new Intl.NumberFormat("en-US");

/** 12,345; a dash for what is unknown, which is never 0. */
export function amount(number) {
  return number === null || number === undefined ? "–" : numbers.format(number);
}

/** A cost in the currency of the registry's prices, which has no name. */
export function cost(number) {
  if (number === null || number === undefined) return "–";
  return number !== 0 && Math.abs(number) < 0.01 ? number.toPrecision(2) : number.toFixed(2);
}

/** How many bytes a file has: "812 bytes", "40 kB", "6.1 MB". */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** One of the texts for one, the other for all else: plural(3, "line") is "3 lines". */
export function plural(count, one, many = `${one}s`) {
  return `${amount(count)} ${count === 1 ? one : many}`;
}

/** "1 approval waits", "3 approvals wait". */
export function approvalsWait(count) {
  return `${plural(count, "approval")} ${count === 1 ? "waits" : "wait"}`;
}

/** The beginning of an id, enough to tell two apart: the last part, since the first is the time. */
export function shortId(id) {
  return id.slice(-8);
}

/** The statuses of an execution that has ended. */
export const ended = ["completed", "failed", "cancelled", "timedOut"];

/** The words that people read for a status of an execution, an approval or a call. */
export function words(status) {
  return Object.hasOwn(named, status) ? named[status] : status.replace(/([A-Z])/g, " $1").toLowerCase();
}

const named = {
  pendingToolApproval: "needs approval",
  pendingApproval: "needs approval",
  executingTool: "runs a tool",
  waitingForClient: "waits for its client",
  waitingForDelegate: "waits for other agents",
  timedOut: "timed out",
  outcomeUnknown: "outcome unknown",
};
