// What a person chooses to take back: which paths a request names for it, and what can be confirmed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Selection, actionText, outcomeText, reasonText, refusalText } from "../../../internal/console/web/selection.js";

const step = (path, action = "restore", more = {}) => ({ path, action, ...more });

function planOf(steps, kept = [], more = {}) {
  return { to: 1, hash: "h1", folders: [{ path: "/w", steps, stepCount: steps.length, kept, keptCount: kept.length, ...more }] };
}

const named = (selection, name) => selection.rows.find((row) => row.name === name);

test("the first preview is of all that is the execution's, and names no path", () => {
  const selection = new Selection(planOf([step("a"), step("b")], [{ path: "c", reason: "uncertain" }, { path: "d", reason: "changedByOthers" }]));
  assert.deepEqual([selection.paths(), selection.isPreviewed, selection.hash, selection.total], [undefined, true, "h1", 2]);
  assert.deepEqual(selection.rows.map(({ name, chosen, canChoose }) => [name, chosen, canChoose]),
    [["a", true, true], ["b", true, true], ["c", false, true], ["d", false, false]]);
});

test("a choice names its paths, and can be confirmed only after a preview of just that choice", () => {
  const selection = new Selection(planOf([step("a"), step("b")], [{ path: "c", reason: "uncertain" }]));
  selection.choose(named(selection, "b"), false);
  selection.choose(named(selection, "c"), true);
  assert.deepEqual([selection.paths(), selection.isPreviewed], [["/w/a", "/w/c"], false]);
  selection.take({ ...planOf([step("a")], [{ path: "c", reason: "conflict" }]), hash: "h2" }, selection.paths());
  assert.deepEqual([selection.isPreviewed, selection.hash, selection.total], [true, "h2", 1]);
  assert.deepEqual(selection.rows.map(({ name, answer }) => [name, answer]), [["a", "goesBack"], ["b", "left"], ["c", "conflict"]]);
  selection.choose(named(selection, "b"), true);
  assert.equal(selection.isPreviewed, false);
});

test("whoever chooses nothing does not take back everything: no path is not the same as no choice", () => {
  const selection = new Selection(planOf([step("a"), step("b")], [{ path: "c", reason: "uncertain" }]));
  selection.chooseAll(false);
  assert.deepEqual([selection.paths(), selection.count, selection.isPreviewed], [[], 0, false]);
  selection.chooseAll(true);
  assert.deepEqual([selection.paths(), selection.count], [["/w/a", "/w/b"], 2], "what is uncertain is chosen by itself");
});

test("a folder is not named where something in it is not chosen, since it stands for all that it holds", () => {
  const gone = { modeBefore: "drwxr-xr-x" };
  const selection = new Selection(planOf([step("dir/a", "delete"), step("dir/b", "delete"), step("dir", "delete", gone), step("dirt", "delete")]));
  selection.choose(named(selection, "dir/a"), false);
  assert.deepEqual(selection.paths(), ["/w/dir/b", "/w/dirt"]);
  selection.choose(named(selection, "dir/a"), true);
  assert.deepEqual(selection.paths(), ["/w/dir/a", "/w/dir/b", "/w/dir", "/w/dirt"]);
});

test("a folder that comes back and what is in it go together", () => {
  const back = { modeAfter: "drwxr-xr-x" };
  const selection = new Selection(planOf([step("dir", "create", back), step("dir/in", "create", back), step("dir/in/a", "create"), step("b", "create")],
    [{ path: "dir/c", reason: "uncertain" }]));
  selection.choose(named(selection, "dir/in/a"), false);
  assert.deepEqual(selection.paths(), ["/w/b"]);
  selection.choose(named(selection, "dir/c"), true);
  assert.deepEqual(selection.paths(), ["/w/dir", "/w/dir/in", "/w/dir/in/a", "/w/b", "/w/dir/c"]);
  selection.choose(named(selection, "dir/c"), false);
  assert.deepEqual(selection.paths(), ["/w/dir", "/w/dir/in", "/w/dir/in/a", "/w/b"], "it stays behind alone");
});

test("a folder and a file that change places are one row", () => {
  const selection = new Selection(planOf([step("p", "delete", { modeBefore: "-rw-r--r--" }), step("p", "create", { modeAfter: "drwxr-xr-x" })]));
  assert.equal(selection.rows.length, 1);
  assert.equal(actionText(selection.rows[0]), "a folder and a file change places");
});

test("it is known whether all paths are listed", () => {
  assert.equal(new Selection(planOf([step("a")])).listed, true);
  assert.equal(new Selection(planOf([step("a")], [], { stepCount: 1001 })).listed, false);
  assert.equal(new Selection(planOf([step("a")], [], { stepCount: 1001 })).total, 1001);
});

test("what is done, in words", () => {
  const text = (one) => actionText(new Selection(planOf([one])).rows[0]);
  assert.equal(text(step("a", "create")), "the file comes back");
  assert.equal(text(step("a", "delete", { modeBefore: "drwxr-xr-x" })), "the folder is deleted");
  assert.equal(text(step("a", "mode", { modeBefore: "-rwxr-xr-x", modeAfter: "-rw-r--r--" })), "its mode becomes -rw-r--r-- again; it is -rwxr-xr-x");
  assert.equal(text(step("a", "constructor")), "constructor");
});

test("why a path stays, in words", () => {
  for (const reason of ["changedByOthers", "uncertain", "notCoveredBefore", "notCoveredNow", "conflict", "inUse", "secondName", "notReachable", "notPermitted",
    "ownerNotKept", "stagedRemains"]) assert.match(reasonText(reason), / /, reason);
  assert.equal(reasonText("constructor"), "constructor");
});

test("why nothing was taken back, in words", () => {
  assert.match(refusalText({ status: 409, code: "busy", message: "x" }).text, /Something runs in the folder/);
  assert.deepEqual(refusalText({ status: 409, code: "checkpointElsewhere", message: "It is on two." }), { text: "It is on two. Nothing was taken back.", again: false });
  assert.match(refusalText({ status: 403, code: "forbidden", message: "x" }).text, /workspaces:restore/);
  assert.deepEqual(refusalText({ status: 0, message: "Nobody answers." }), { text: "Nobody answers.", again: true });
});

test("what was done, in words", () => {
  assert.equal(outcomeText([{ restoredCount: 1, keptCount: 0 }]), "1 file went back.");
  assert.equal(outcomeText([{ restoredCount: 2, keptCount: 1 }, { restoredCount: 1000, keptCount: 0 }]), "1,002 files went back, 1 file stays as it is.");
  assert.equal(outcomeText([{ restoredCount: 0, keptCount: 2 }]), "0 files went back, 2 files stay as they are.");
});
