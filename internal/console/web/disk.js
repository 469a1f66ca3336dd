// The changes on disk that checkpoints have found, from the log of an execution, and their texts. Pure; the items equal those of the server's reducer.

import { maxChanges } from "./changes.js";
import { plural } from "./format.js";
import { lookup } from "./lookup.js";

/** The changes that a checkpoint has found in all its folders: {checkpoint, files, changedPaths, additions, deletions}. */
export function foundBy({ checkpoint, folders = [] }) {
  const found = { checkpoint, files: [], changedPaths: 0, additions: 0, deletions: 0 };
  for (const folder of folders) {
    found.changedPaths += folder.changedPaths;
    found.additions += folder.additions;
    found.deletions += folder.deletions;
    for (const change of folder.changes.slice(0, maxChanges - found.files.length)) found.files.push(changedFile(folder.path, change));
  }
  return found;
}

function changedFile(folder, { path, from, kind, by, binary, additions, deletions }) {
  return { path: pathIn(folder, path), from: from && pathIn(folder, from), kind, by: by || undefined, binary: binary || undefined, additions, deletions };
}

/** The absolute path of a path in a folder. */
export function pathIn(folder, path) {
  return `${folder.replace(/\/$/, "")}/${path}`;
}

/** A rollback as an item, with the first paths of each folder. */
export function rolledBack({ rollback, to, folders, error, by }) {
  const bounded = folders.map((folder) => ({ ...folder, restored: folder.restored.slice(0, maxChanges), kept: folder.kept.slice(0, maxChanges) }));
  return { number: rollback, to, folders: bounded, error: error ?? undefined, by };
}

/** The checkpoints of a log, in their order. */
export class Points {
  all = []; // {number, turn, moment, toolCallId, time}

  take({ status, checkpoint, turn, moment, toolCallId }, time) {
    if (status === "taken") this.all.push({ number: checkpoint, turn, moment, toolCallId, time });
  }

  /** Adds the checkpoints around a rollback of an ended execution. The log has no events of them. */
  takeRollback({ result, endedAt }) {
    for (const one of result?.checkpoints ?? []) if (!this.all.some(({ number }) => number === one.checkpoint)) this.take(one, endedAt);
  }

  /** The checkpoint before a call; undefined: the call has no checkpoint. */
  beforeCall(toolCallId) {
    return this.#before((point) => point.toolCallId === toolCallId && point.moment !== "beforeToolCall");
  }

  /** The checkpoint before a turn; undefined: the turn has no checkpoint. */
  beforeTurn(turn) {
    return this.#before((point) => point.turn === turn);
  }

  /** The checkpoint before another one; undefined: there is none. */
  before(number) {
    return this.all[this.all.findIndex((point) => point.number === number) - 1];
  }

  /** The turns that have checkpoints. */
  turns() {
    return [...new Set(this.all.map(({ turn }) => turn))].filter((turn) => turn > 0);
  }

  /** Finds the beginning of a diff as the server does: the first checkpoint of a turn may be the one before its first call. */
  #before(counts) {
    const at = this.all.findIndex(counts);
    if (at < 0) return undefined;
    return this.all[at].moment === "turnBegins" ? this.all[at] : this.all[Math.max(0, at - 1)];
  }
}

/** Sums up the changes of several checkpoints: {files, additions, deletions} count all paths, {uncertain, others} count the listed ones. */
export function sumOf(found) {
  const sum = { files: 0, additions: 0, deletions: 0, uncertain: 0, others: 0 };
  for (const { files, changedPaths, additions, deletions } of found) {
    sum.files += changedPaths;
    sum.additions += additions;
    sum.deletions += deletions;
    for (const { by } of files) if (by === "uncertain" || by === "others") sum[by]++;
  }
  return sum;
}

/** "2 files changed" */
export function filesChanged(count) {
  return `${plural(count, "file")} changed`;
}

/** Who changed a path, in a word and in a sentence; undefined: the execution itself, or unknown. */
export function changedBy(by) {
  return lookup(changers, by);
}

const changers = {
  others: { badge: "by others", sentence: "Somebody else has changed it." },
  uncertain: { badge: "uncertain", sentence: "Perhaps somebody else has changed it: others were at work in the folder, or an external agent, whose writes nobody sees." },
};

/** The kind of a change, in a word. */
export function kindOf({ kind, modeBefore, modeAfter }) {
  if (kind === "added" || kind === "deleted") return `${typeOf(modeAfter ?? modeBefore)} ${kind}`.trimStart();
  return lookup({ modified: "changed", renamed: "renamed", typeChanged: "another type", modeChanged: "mode or owner changed" }, kind) ?? String(kind);
}

/** The facts about a changed file besides its lines: sentences. A path or a mode in them may hold any character. */
export function factsOf(file) {
  const { from, kind, modeBefore, modeAfter, by, omitted, diff } = file;
  const modes = modeBefore && modeAfter && modeBefore !== modeAfter && `Its mode was ${modeBefore} and is ${modeAfter}.`;
  return [
    from && `It was renamed from ${from}.`,
    kind === "typeChanged" && `It was a ${typeOf(modeBefore) || "file"} and is a ${typeOf(modeAfter) || "file"}.`,
    modes,
    kind === "modeChanged" && !modes && "Its owner is another one.",
    kind === "added" && isRunnable(modeAfter) && `It can be run: its mode is ${modeAfter}.`,
    changedBy(by)?.sentence,
    omitted && (lookup(omissions(diff !== ""), omitted) ?? `Its content is not shown: ${omitted}.`),
  ].filter(Boolean);
}

function omissions(begun) {
  return {
    binary: "It is no text: its content is not shown.",
    secret: "Its content is not shown: files of this name hold secrets.",
    tooLarge: begun ? "Only the beginning of its changes is shown: the rest is too large." : "Its changes are too large to be shown.",
  };
}

/** Modes are written as by ls: the letter before the bits tells the type. */
function typeOf(mode) {
  return lookup({ d: "folder", L: "link", l: "link" }, mode?.[0]) ?? "";
}

/** Whether a mode is the mode of a folder. */
export function isFolder(mode) {
  return typeOf(mode) === "folder";
}

function isRunnable(mode) {
  return /^-..x|^-.....x|^-........x/.test(mode ?? "");
}
