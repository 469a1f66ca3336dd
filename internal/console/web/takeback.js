// The dialog that takes changes back. First it shows which files would go back, and which stay and why; the person may choose single files. The rollback does only
// what a preview has shown: it names the hash of the newest preview, and the server refuses it if it would do something else.

import { Problem, executionPath, get, post, sleep } from "./api.js";
import { restoredView } from "./diskrows.js";
import { fill, h, say, uniqueId } from "./dom.js";
import { plural } from "./format.js";
import { busy, isBusy } from "./loading.js";
import { reveal, revealed } from "./reveal.js";
import { Selection, actionText, outcomeText, reasonText, refusalText } from "./selection.js";
import { revealedCall } from "./suspect.js";

const lookAgain = 1000; // milliseconds
const leaving = "Leave all as it is";

/** A dialog for a rollback to one checkpoint. */
export class TakeBack {
  #path;
  #to;
  #signal;
  #done;
  #selection;
  #closed = new AbortController();
  #about;
  #tree = h("input", { type: "checkbox", on: { change: () => this.#preview() } }); // the changes of the children, too
  #asks = 0; // counts the requests: a preview that the person no longer waits for is dropped
  #status = h("p", { role: "status", tabindex: -1 });
  #body = h("div", { class: "stack" });
  #leave = h("button", { type: "button", on: { click: () => this.#dialog.close() } }); // never replaced, so that it keeps the focus
  #act = h("div", { class: "row" });
  #dialog;

  /** @param {string} id of the execution @param {{to: number, since: string, signal: AbortSignal, done: () => void, delegates: boolean}} about */
  constructor(id, { to, since, signal, done, delegates }) {
    const title = uniqueId("takeback");
    this.#path = executionPath(id);
    this.#to = to;
    this.#signal = AbortSignal.any([signal, this.#closed.signal]);
    this.#done = done;
    this.#about = h("div", {}, h("p", {}, `This restores the folders as they were ${since} (checkpoint ${to}). It takes back all changes that the execution has made since then. Changes of others stay.`),
      delegates && h("label", { class: "choice" }, this.#tree, h("span", {}, "Take back the changes of its children, too")));
    this.#dialog = h("dialog", { class: "take-back", "aria-labelledby": title, on: { close: () => this.#gone() } }, h("div", { class: "stack" },
      h("h2", { id: title }, "Take changes back"), this.#about, this.#status, this.#body, h("div", { class: "row spread" }, this.#leave, this.#act)));
  }

  /** Opens the dialog in a place of the page. */
  open(place) {
    place.append(this.#dialog);
    this.#offer(leaving);
    this.#dialog.showModal();
    this.#preview();
  }

  #gone() {
    this.#closed.abort();
    this.#dialog.remove();
  }

  /** Shows the button that leaves the dialog, and maybe one that acts. If the focus was on a button that goes away, the status gets the focus. */
  #offer(leave, label, act, className) {
    const focused = this.#act.contains(document.activeElement);
    say(this.#leave, leave);
    fill(this.#act, label && h("button", { type: "button", class: className, on: { click: (event) => act(event.currentTarget) } }, label));
    if (focused) this.#status.focus();
  }

  /** Asks the server, and shows its refusal. It drops an answer if the dialog was closed, or has asked again. */
  async #ask(doing, ask, again) {
    const asked = ++this.#asks;
    say(this.#status, doing);
    try {
      const answer = await ask();
      return asked === this.#asks ? answer : undefined;
    } catch (problem) {
      if (this.#signal.aborted || asked !== this.#asks) return undefined;
      if (!(problem instanceof Problem)) throw problem;
      this.#refused(problem, again);
      return undefined;
    }
  }

  #refused(problem, again) {
    if (problem.code === "previewOutdated") return void this.#preview("The folders have changed since the preview. This is a new one.");
    const { text, again: mayHelp } = refusalText(problem);
    say(this.#status, "");
    fill(this.#body, h("p", { class: "notice error", role: "alert" }, revealed(text)));
    this.#offer("Close", mayHelp && "Try again", again);
  }

  // ——— the preview, and the choice ———

  async #preview(note = "") {
    fill(this.#body);
    this.#offer(leaving);
    const plan = await this.#ask("Looking at what would go back…", () => this.#send(this.#request({ dryRun: true })), () => this.#preview());
    if (plan === undefined) return;
    this.#selection = new Selection(plan);
    this.#drawChoice(note);
  }

  async #previewChoice(button) {
    if (isBusy(button)) return;
    busy(button, true);
    const paths = this.#selection.paths();
    const plan = await this.#ask("Looking at what would go back…", () => this.#send(this.#request({ paths, dryRun: true })), () => this.#preview());
    if (plan === undefined) return;
    this.#selection.take(plan, paths);
    this.#drawChoice();
  }

  #drawChoice(note = "") {
    const selection = this.#selection;
    const folders = Map.groupBy(selection.rows, ({ folder }) => folder);
    const goes = (rows) => rows.filter(({ reason }) => reason === undefined);
    const stays = (rows) => rows.filter(({ reason }) => reason !== undefined);
    fill(this.#body, note && h("p", { class: "notice warn" }, note),
      !selection.listed && h("p", { class: "notice warn small" }, "Not all files are listed. Those that are not go back with the others, unless single files are chosen: then they stay."),
      [...folders].map(([folder, rows]) => h("div", { class: "stack", role: "group", "aria-label": `Files in ${folder}` },
        h("p", { class: "small" }, "In ", h("span", { class: "mono" }, revealedCall(folder))),
        this.#listView(this.#tree.checked ? "Changed by the execution and its children" : "Changed by the execution", goes(rows)), this.#listView(staying(stays(rows)), stays(rows)))));
    this.#settle();
  }

  #listView(title, rows) {
    return rows.length > 0 && h("fieldset", {}, h("legend", {}, `${title} (${rows.length})`),
      rows.length > 5 && rows.some(({ reason }) => reason === undefined) && h("p", { class: "row" }, this.#allButton("Choose none", false), this.#allButton("Choose all", true)),
      h("ul", { class: "choices-list" }, rows.map((row) => h("li", {}, this.#rowView(row)))));
  }

  #allButton(label, chosen) {
    const choose = () => {
      this.#selection.chooseAll(chosen);
      this.#drawChecks();
    };
    return h("button", { type: "button", on: { click: choose } }, label);
  }

  #rowView(row) {
    const text = [h("span", { class: "mono path" }, revealedCall(row.name)), " ",
      h("span", { class: "small muted" }, row.reason === undefined ? reveal(actionText(row)) : reasonText(row.reason), row.reason === "uncertain" && "; choose it to take it back"),
      this.#answerOf(row)];
    if (!row.canChoose) return h("div", { class: "choice" }, h("span", {}, text));
    row.box = h("input", { type: "checkbox", on: { change: () => this.#choose(row) } });
    row.box.checked = row.chosen;
    return h("label", { class: "choice" }, row.box, h("span", {}, text));
  }

  /** A mark for a chosen row that stays all the same, by the preview of the choice. */
  #answerOf({ chosen, answer }) {
    return chosen && answer !== "goesBack" && h("span", { class: "badge by", data: { by: "uncertain" } }, `stays: ${reasonText(answer)}`);
  }

  #choose(row) {
    this.#selection.choose(row, row.box.checked);
    this.#drawChecks();
  }

  #drawChecks() {
    for (const { box, chosen } of this.#selection.rows) if (box !== undefined) box.checked = chosen;
    this.#settle();
  }

  /** Shows the state of the choice, and the button for the next step. */
  #settle() {
    const selection = this.#selection;
    const { total, count, isPreviewed } = selection;
    if (isPreviewed && total === 0) {
      say(this.#status, selection.rows.length === 0 ? "The folders equal that checkpoint." : "Nothing goes back.");
      return this.#offer(leaving);
    }
    if (isPreviewed) {
      say(this.#status, `${plural(total, "file")} ${total === 1 ? "goes" : "go"} back.`);
      return this.#offer(leaving, `Take back ${plural(total, "file")}`, () => this.#confirm(), "danger");
    }
    say(this.#status, count === 0 ? "Choose at least one file." : `${plural(count, "file")} chosen.`);
    this.#offer(leaving, count > 0 && "Preview the choice", (button) => this.#previewChoice(button), "primary");
  }

  // ——— the rollback ———

  /** Begins the rollback. Closing the dialog does not stop it. */
  async #confirm() {
    const { hash } = this.#selection;
    const paths = this.#selection.paths();
    fill(this.#body);
    this.#offer("Close");
    this.#tree.disabled = true;
    const begun = await this.#ask("Taking back…", () => post(`${this.#path}/rollback`, this.#request({ paths, hash })), () => this.#preview());
    const ended = begun && (await this.#ask("Taking back…", () => this.#ended(begun), () => this.#preview()));
    if (ended !== undefined) this.#tell(ended);
    if (begun !== undefined) this.#done();
  }

  /** Waits for the end of a rollback: the server may answer before. */
  async #ended(rollback) {
    let now = rollback;
    while (now.state === "requested" || now.state === "running") {
      await sleep(lookAgain, this.#signal);
      const { items } = await get(`${this.#path}/rollbacks`, {}, { signal: this.#signal });
      now = items.find(({ number }) => number === rollback.number) ?? now;
    }
    return now;
  }

  #tell({ state, result, error }) {
    const folders = result?.folders ?? [];
    const why = error ?? result?.error;
    say(this.#status, folders.length > 0 ? outcomeText(folders) : state === "failed" ? "Nothing was taken back." : "");
    this.#about.hidden = true;
    fill(this.#body, why && h("p", { class: "notice error", role: "alert" }, revealed(why.message)), folders.map(restoredView),
      folders.some(({ restoredCount }) => restoredCount > 0) && h("p", { class: "small muted" },
        "To undo this, take back to the checkpoint before it: see “Changes on disk” at the top of the page."));
    this.#offer("Close");
    this.#leave.focus();
  }

  /** The body of a request. JSON leaves out undefined fields. */
  #request(more) {
    return { to: this.#to, tree: this.#tree.checked || undefined, ...more };
  }

  #send(body) {
    return post(`${this.#path}/rollback`, body, { signal: this.#signal });
  }
}

function staying(rows) {
  return rows.some(({ canChoose }) => canChoose) ? "Stays unless chosen" : "What stays";
}
