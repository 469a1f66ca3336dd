// The changes of a whole execution on disk, above its conversation: since its first checkpoint, of one turn, or since any checkpoint; and its rollbacks.

import { attribute, fill, h, keyed, say } from "./dom.js";
import { field } from "./field.js";
import { ended, moment, plural, words } from "./format.js";
import { revealed } from "./reveal.js";
import { outcomeText } from "./selection.js";

/** A line that opens the changes. It reads them from the server only then. */
export class DiskPanel {
  element;
  #taking;
  #count = h("span");
  #select = field("Show", h("select"));
  #diff = h("div");
  #offer = h("div", { class: "row" });
  #newer = h("button", { type: "button", hidden: true, on: { click: () => this.#read() } }, "Show newer changes");
  #history = h("section", { class: "stack", "aria-label": "Taken back", hidden: true });
  #options = ""; // the number of checkpoints in the drawn options
  #upTo = 0; // the checkpoint that was the newest when the diff was read

  /**
   * A live execution has the line from the beginning: if the line came with the first change, the page below would move under a finger.
   * @param {object} execution @param taking the checkpoints of the page @param {(toolCallId: string) => string | undefined} toolOf names the tool of a call
   */
  constructor({ checkpoints, status }, taking, toolOf) {
    this.#taking = taking;
    this.toolOf = toolOf;
    this.expected = checkpoints !== undefined && checkpoints !== "off" && !ended.includes(status);
    this.element = h("details", { class: "settings card disk-panel", hidden: true, on: { toggle: () => this.element.open && this.#read() } },
      h("summary", {}, "Changes on disk: ", this.#count),
      h("div", { class: "stack disk-scope" }, this.#select.element, this.#offer, this.#newer, this.#diff, this.#history));
    this.#select.control.addEventListener("change", () => this.#read());
    taking.onTakenBack(() => this.element.open && this.#readHistory().then(() => this.#read())); // the log may have no events of its checkpoints
  }

  /** Updates the line for the checkpoints of the log. */
  show() {
    const { all } = this.#taking.points;
    attribute(this.element, "hidden", all.length < 2 && !this.expected);
    say(this.#count, all.length < 2 ? "none so far" : plural(all.length, "checkpoint"));
    this.#drawOptions();
    this.#newer.hidden = !this.element.open || all.at(-1)?.number === this.#upTo;
  }

  #drawOptions() {
    const { all } = this.#taking.points;
    if (this.#options === String(all.length)) return;
    this.#options = String(all.length);
    const chosen = this.#select.control.value;
    const since = all.slice(0, -1).map((point) => h("option", { value: `from ${point.number}` }, this.#nameOf(point)));
    fill(this.#select.control, h("option", { value: "" }, "The whole execution"),
      this.#taking.points.turns().map((turn) => h("option", { value: `turn ${turn}` }, `Turn ${turn}`)), h("optgroup", { label: "Since a checkpoint" }, since));
    this.#select.control.value = chosen;
  }

  #nameOf({ number, moment: at, toolCallId, turn, time }) {
    const tool = toolCallId && this.toolOf(toolCallId);
    const when = { turnBegins: `before turn ${turn}`, beforeToolCall: `before ${tool || "a call"}`, afterToolCall: `after ${tool || "a call"}`,
      turnEnds: `after turn ${turn}`, beforeRollback: "before a rollback", afterRollback: "after a rollback" };
    return `Checkpoint ${number}, ${when[at] ?? words(at)}, ${new Date(time).toLocaleTimeString()}`;
  }

  #read() {
    const { points } = this.#taking;
    if (points.all.length === 0) return void fill(this.#diff, h("p", { class: "muted" }, "No checkpoint has been taken so far."));
    const [what, number] = this.#select.control.value.split(" ");
    const scopes = {
      "": { query: {}, point: points.all[0], label: "Take all back…", since: "at the beginning" },
      turn: { query: { turn: number }, point: points.beforeTurn(Number(number)), label: "Take back to before this turn…", since: `before turn ${number}` },
      from: { query: { from: number }, point: points.all.find((point) => point.number === Number(number)), label: "Take back to this checkpoint…", since: "at that moment" },
    };
    const { query, point, label, since } = scopes[what];
    this.#upTo = points.all.at(-1)?.number;
    this.#newer.hidden = true;
    this.#taking.draw(this.#diff, query, { counted: true });
    this.#taking.offer(this.#offer, point, label, since);
    this.#readHistory();
  }

  /** The log has no events of the rollbacks of an ended execution. */
  async #readHistory() {
    const found = await this.#taking.rollbacks().catch(() => []); // the diff shows the error
    for (const rollback of found) this.#taking.points.takeRollback(rollback);
    this.show();
    this.#history.hidden = found.length === 0;
    if (this.#history.hidden) return;
    const list = h("ul", { class: "paths" });
    keyed(list, found, ({ number }) => number, historyLine);
    fill(this.#history, h("h3", {}, "Taken back"), list);
  }
}

function historyLine({ state, to, by, result, error, createdAt }) {
  const how = result ? outcomeText(result.folders) : "";
  return h("li", {}, `${moment(createdAt)}, to checkpoint ${to}`, " by ", revealed(by.name), `: ${words(state)}. ${how}`,
    error && [" ", revealed(error.message)]);
}
