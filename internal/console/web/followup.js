// A further prompt for an execution that lives, and those that wait for their turn.

import { actButton } from "./act.js";
import { Attachments, promptOf } from "./attachments.js";
import { executionPath, post } from "./api.js";
import { fill, h } from "./dom.js";
import { field, showErrors } from "./field.js";
import { showJSON } from "./json.js";
import { choicesOf } from "./offers.js";
import { randomKey } from "./random.js";
import { reveal, revealText } from "./reveal.js";

const choices = [["enqueue", "wait for its turn"], ["interrupt", "stop the turn, and send this next"], ["reject", "do not send it"]];

export class FollowUp {
  element;
  #path;
  #waiting = h("div", { class: "stack", role: "group", "aria-label": "Prompts that wait", hidden: true });
  #shown = "[]";
  #offered = "[]";
  #lists = []; // [{id, control}]: one for each option of the agent
  #options = field("Options of the agent", h("div", { class: "columns narrow", role: "group", "aria-label": "Options of the agent" }),
    "They hold from this prompt on.");
  #text = field("Follow-up", h("textarea", { rows: 3 }), "Control and Enter sends it.");
  #files = new Attachments();
  #busy = field("While a turn runs", h("select", {}, choices.map(([value, label]) => h("option", { value }, label))));
  #send;
  #sent; // {key, body}: of the draft that was sent last, so that sending it again asks nothing twice

  constructor(id) {
    this.#path = `${executionPath(id)}/prompts`;
    this.#send = actButton("Send", { className: "primary", type: "submit", doing: "Sending…", request: () => this.#request() });
    const form = h("form", { class: "stack", on: { submit: (event) => (event.preventDefault(), this.#send.act()) } }, this.#text.element, this.#files.element, this.#options.element, h("div",
      { class: "row spread" }, this.#busy.element, this.#send.element));
    this.#options.element.hidden = true;
    this.#files.takesFrom(form);
    this.#text.control.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit());
    this.element = h("section", { class: "follow-up card", "aria-label": "Go on" }, this.#waiting, form);
  }

  /**
   * @param prompts those that wait
   * @param options what the agent lets its user choose
   */
  show(prompts, ended, options) {
    this.element.hidden = ended;
    this.#offer(options);
    const now = showJSON(prompts);
    if (now === this.#shown) return;
    this.#shown = now;
    this.#waiting.hidden = prompts.length === 0;
    fill(this.#waiting, prompts.map(({ text, by }) => h("p", { class: "notice small" }, h("strong", {}, "Waits for its turn"), by ? [", by ",
      reveal(by.name)] : "", ": ", reveal(text))));
  }

  /** Draws the lists of the options, where they are others than before. What was chosen and not sent yet stays where it is still offered. */
  #offer(options) {
    const now = showJSON(options);
    if (now === this.#offered) return;
    this.#offered = now;
    const chosen = this.#chosen();
    this.#options.element.hidden = options.length === 0;
    this.#lists = options.map((option) => {
      const control = h("select", { "aria-label": revealText(option.name || option.id) }, choicesOf(option).map(({ value, text }) => h("option", { value }, text)));
      control.value = chosen[option.id] ?? "";
      if (control.selectedIndex < 0) control.value = "";
      return { id: option.id, control };
    });
    fill(this.#options.control, this.#lists.map(({ control }) => h("label", {}, control.getAttribute("aria-label"), control)));
  }

  #chosen() {
    return Object.fromEntries(this.#lists.filter(({ control }) => control.value !== "").map(({ id, control }) => [id, control.value]));
  }

  async #request() {
    this.#text.error("");
    const text = this.#text.control.value;
    const files = this.#files.value;
    if (this.#files.obstacle !== "") return this.#files.refuse(this.#files.obstacle);
    if (text.trim() === "" && files.length === 0) return this.#refuse("Write what the agent is to do next.");
    const options = this.#chosen();
    const body = { prompt: promptOf(text, files), whenBusy: this.#busy.control.value, ...(Object.keys(options).length > 0 && { options }) };
    try {
      await post(this.#path, body, { key: this.#keyFor(body) });
    } catch (problem) {
      const rest = showErrors(new Map([["/prompt", this.#text], ["/whenBusy", this.#busy], ["/options", this.#options]]), problem.errors ?? []);
      if (rest.length === 0 && problem.errors?.length > 0) return;
      throw problem;
    }
    this.#sent = undefined;
    this.#options.error("");
    for (const { control } of this.#lists) control.value = "";
    this.#files.forget(files);
    if (this.#text.control.value === text) this.#text.control.value = "";
  }

  #refuse(message) {
    this.#text.error(message);
    this.#text.control.focus();
  }

  #keyFor(body) {
    const text = JSON.stringify(body);
    if (this.#sent?.body !== text) this.#sent = { key: randomKey(), body: text };
    return this.#sent.key;
  }
}
