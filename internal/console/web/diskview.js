// The differences of the folders on disk between two checkpoints, for people: file by file, each with the kind of the change, who made it, and its lines. The
// lines are drawn when the file is opened.

import { countsView, linesView } from "./diff.js";
import { changedBy, factsOf, filesChanged, kindOf, sumOf } from "./disk.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { revealCall, revealedCall } from "./suspect.js";

/** The files are open from the beginning if they are this few. */
const fewFiles = 3;

/**
 * @param {object} diff as GET /executions/{id}/diff answers
 * @param {{counted?: boolean}} [how] counted: each folder shows the number of its changes
 * @returns {HTMLElement}
 */
export function diskDiffView({ folders }, { counted = folders.length > 1 } = {}) {
  const changed = folders.filter(({ changedPaths }) => changedPaths > 0);
  if (changed.length === 0) return h("p", { class: "muted" }, "Nothing has changed.");
  const open = changed.reduce((sum, { files }) => sum + files.length, 0) <= fewFiles;
  return h("div", { class: "stack disk-folders" }, changed.map((folder) => folderView(folder, { open, counted })));
}

function folderView({ path, files, changedPaths, additions, deletions }, { open, counted }) {
  return h("div", { class: "disk-folder", role: "group", "aria-label": `Changes in ${path}` },
    h("p", { class: "row spread small" }, h("span", {}, counted ? `${filesChanged(changedPaths)} in ` : "In ", h("span", { class: "mono" }, revealedCall(path))),
      counted && countsView(additions, deletions)),
    files.length < changedPaths && h("p", { class: "notice warn small" }, `Only the first ${plural(files.length, "file")} of this folder are listed.`),
    files.map((file) => fileView(file, open)));
}

function fileView(file, open) {
  const body = h("div", { class: "disk-body" });
  const title = h("summary", {}, h("span", { class: "path mono" }, revealedCall(file.path)), h("span", { class: "muted small" }, kindOf(file)),
    byBadge(file.by), file.additions + file.deletions > 0 && countsView(file.additions, file.deletions));
  const details = h("details", { class: "disk-file diff", open }, title, body);
  const draw = () => {
    if (!details.open || body.hasChildNodes()) return;
    const facts = factsOf(file);
    const lines = linesView(withoutNames(file.diff), file.path);
    body.append(...facts.map((fact) => h("p", { class: "hint" }, revealCall(fact))), lines ?? (facts.length > 0 ? "" : h("p", { class: "hint" }, "No line changes.")));
  };
  details.addEventListener("toggle", draw);
  draw();
  return details;
}

/** Leaves out the two lines with names, which repeat the text above the lines. */
function withoutNames(unified) {
  return unified.replace(/^--- .*\n\+\+\+ .*\n/, "");
}

/** Marks a change that somebody else has made, or perhaps made; null: the execution has made it. */
export function byBadge(by) {
  const changer = changedBy(by);
  return changer === undefined ? null : h("span", { class: "badge by", data: { by } }, changer.badge);
}

/** The line for the changes of checkpoints: "2 files changed +3 −1", with marks. */
export function sumView(found) {
  const sum = sumOf(found);
  return [h("span", {}, filesChanged(sum.files)), countsView(sum.additions, sum.deletions),
    sum.uncertain > 0 && h("span", { class: "badge by", data: { by: "uncertain" } }, `${sum.uncertain} uncertain`),
    sum.others > 0 && h("span", { class: "badge by", data: { by: "others" } }, `${sum.others} by others`)];
}
