// The choice of a person among the paths of a preview. Pure. A preview lists the paths that go back, and the paths that stay, with the reason. Of the paths that
// stay, a person can choose only the uncertain ones, one by one, because the server takes them back only if a request names them.

import { isFolder, pathIn } from "./disk.js";
import { plural } from "./format.js";
import { lookup } from "./lookup.js";

/** The rows of the first preview, and which of them are chosen. Later previews are of the choice, and show what it does. */
export class Selection {
  /** [{folder, path: absolute, name: in the folder, actions, folds: it is a folder, reason?, canChoose, chosen, answer}] */
  rows;
  hash;
  #previewed; // the paths of the newest preview
  #untouched = true;

  constructor(plan) {
    this.rows = plan.folders.flatMap((folder) => [...stepsOf(folder), ...keptOf(folder)]);
    this.listed = plan.folders.every(({ steps, stepCount, kept, keptCount }) => steps.length === stepCount && kept.length === keptCount);
    this.total = total(plan);
    this.hash = plan.hash;
  }

  /** Chooses a row, or undoes the choice. A folder that comes back and the files in it go together: a file cannot come back without its folder. */
  choose(row, chosen) {
    this.#untouched = false;
    row.chosen = chosen;
    const folder = this.rows.find((one) => one.folds && one.actions.includes("create") && (one === row || holds(one, row)));
    if (folder === undefined || (row.reason !== undefined && !chosen)) return;
    for (const one of this.rows) if (one === folder || (one.reason === undefined && holds(folder, one))) one.chosen = chosen;
  }

  chooseAll(chosen) {
    this.#untouched = false;
    for (const row of this.rows) if (row.reason === undefined) row.chosen = chosen;
  }

  /** The number of chosen rows. */
  get count() {
    return this.rows.filter(({ chosen }) => chosen).length;
  }

  /**
   * The paths that the request names; undefined: it names none, and takes back all changes of the execution. A named folder covers all that it holds, so the
   * request does not name a folder in which a row is not chosen.
   */
  paths() {
    if (this.#untouched) return undefined;
    const left = this.rows.filter(({ chosen, reason }) => !chosen && reason === undefined);
    return this.rows.filter((row) => row.chosen && !(row.folds && left.some((one) => holds(row, one)))).map(({ path }) => path);
  }

  /** Whether the newest preview is of the present choice: a person can confirm only such a preview. */
  get isPreviewed() {
    return JSON.stringify(this.paths()) === JSON.stringify(this.#previewed);
  }

  /** Takes the preview of a choice, and sets the answer of each row. */
  take(plan, paths) {
    this.hash = plan.hash;
    this.total = total(plan);
    this.#previewed = paths;
    const steps = new Set(plan.folders.flatMap((folder) => folder.steps.map(({ path }) => pathIn(folder.path, path))));
    const kept = new Map(plan.folders.flatMap((folder) => folder.kept.map(({ path, reason }) => [pathIn(folder.path, path), reason])));
    for (const row of this.rows) row.answer = steps.has(row.path) ? "goesBack" : (kept.get(row.path) ?? "left");
  }
}

function total(plan) {
  return plan.folders.reduce((sum, { stepCount }) => sum + stepCount, 0);
}

function holds(folder, row) {
  return row.path.startsWith(`${folder.path}/`);
}

/** If a file takes the place of a folder, or a folder that of a file, there are two steps at one path. */
function stepsOf({ path: folder, steps }) {
  const rows = new Map();
  for (const { path, action, modeBefore, modeAfter } of steps) {
    const row = rows.get(path) ?? { folder, path: pathIn(folder, path), name: path, actions: [], folds: false, canChoose: true, chosen: true, answer: "goesBack" };
    row.actions.push(action);
    row.folds ||= isFolder(modeBefore) || isFolder(modeAfter);
    if (action === "mode") Object.assign(row, { modeBefore, modeAfter });
    rows.set(path, row);
  }
  return [...rows.values()];
}

function keptOf({ path: folder, kept }) {
  return kept.map(({ path, reason }) => ({ folder, path: pathIn(folder, path), name: path, actions: [], folds: false, reason, canChoose: reason === "uncertain",
    chosen: false, answer: reason }));
}

/** The text for the step of a path. */
export function actionText({ actions, folds, modeBefore, modeAfter }) {
  const what = folds ? "folder" : "file";
  if (actions.length > 1) return "a folder and a file change places";
  const texts = { create: `the ${what} comes back`, delete: `the ${what} is deleted`, restore: "its earlier content comes back",
    mode: `its mode becomes ${modeAfter} again; it is ${modeBefore}` };
  return lookup(texts, actions[0]) ?? String(actions[0]);
}

/** The text for the reason why a path stays. */
export function reasonText(reason) {
  return lookup(reasons, reason) ?? String(reason);
}

const reasons = {
  changedByOthers: "somebody else has changed it since",
  uncertain: "perhaps somebody else has changed it since",
  notCoveredBefore: "the checkpoint does not hold it",
  notCoveredNow: "the newest checkpoint does not hold it",
  conflict: "it is other than the newest checkpoint saw it: somebody has changed it in between",
  inUse: "a program has it open for writing",
  secondName: "it has a second name, a hard link",
  notReachable: "its folder is gone, hidden or guarded",
  notPermitted: "the server may not change it, or the file system cannot do it",
  ownerNotKept: "the server cannot give it back to its owner",
  stagedRemains: "somebody wrote to it in that moment, and that file lies beside it under a name with .signoff-",
  left: "not chosen",
};

/** The text for a refused rollback: {text, again: whether a later try may succeed}. */
export function refusalText({ status, code, message }) {
  if (code === "busy") return { text: "Something runs in the folder: a call, a turn of an agent, or another execution. Nothing was taken back. Try again when it has ended.",
    again: true };
  if (code === "checkpointElsewhere") return { text: `${message} Nothing was taken back.`, again: false };
  if (status === 403) return { text: "Your token may not take changes back: it lacks the scope workspaces:restore.", again: false };
  return { text: message, again: status === 0 || status >= 500 || status === 429 };
}

/** The result of a rollback, in a line. */
export function outcomeText(folders) {
  const back = folders.reduce((sum, { restoredCount }) => sum + restoredCount, 0);
  const stay = folders.reduce((sum, { keptCount }) => sum + keptCount, 0);
  const rest = stay === 0 ? "" : stay === 1 ? ", 1 file stays as it is" : `, ${plural(stay, "file")} stay as they are`;
  return `${plural(back, "file")} went back${rest}.`;
}
