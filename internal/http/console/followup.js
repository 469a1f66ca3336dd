// A further prompt for an execution that lives, and those that wait for their turn.

import { actButton } from "./act.js";
import { executionPath, post } from "./api.js";
import { fill, h } from "./dom.js";
import { field, showErrors } from "./field.js";
import { showJSON } from "./json.js";
import { randomKey } from "./random.js";
import { reveal } from "./reveal.js";

const choices = [["enqueue", "wait for its turn"], ["interrupt", "stop the turn, and send this next"], ["reject", "do not send it"]];

export class FollowUp {
  element;
  #path;
  #waiting = h("div", { class: "stack", role: "group", "aria-label": "Prompts that wait", hidden: true });
  #shown = "[]";
  #text = field("Follow-up", h("textarea", { rows: 3 }), "Control and Enter sends it.");
  #busy = field("While a turn runs", h("select", {}, choices.map(([value, label]) => h("option", { value }, label))));
  #send;
  #sent; // {key, body}: of the draft that was sent last, so that sending it again asks nothing twice

  constructor(id) {
    this.#path = `${executionPath(id)}/prompts`;
    this.#send = actButton("Send", { className: "primary", type: "submit", doing: "Sending…", request: () => this.#request() });
    const form = h("form", { class: "stack", on: { submit: (event) => (event.preventDefault(), this.#send.act()) } }, this.#text.element, h("div",
      { class: "row spread" }, this.#busy.element, this.#send.element));
    this.#text.control.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit());
    this.element = h("section", { class: "follow-up card", "aria-label": "Go on" }, this.#waiting, form);
  }

  /** @param prompts those that wait */
  show(prompts, ended) {
    this.element.hidden = ended;
    const now = showJSON(prompts);
    if (now === this.#shown) return;
    this.#shown = now;
    this.#waiting.hidden = prompts.length === 0;
    fill(this.#waiting, prompts.map(({ text, by }) => h("p", { class: "notice small" }, h("strong", {}, "Waits for its turn"), by ? [", by ",
      reveal(by.name)] : "", ": ", reveal(text))));
  }

  async #request() {
    this.#text.error("");
    const prompt = this.#text.control.value;
    if (prompt.trim() === "") return this.#refuse("Write what the agent is to do next.");
    const body = { prompt, whenBusy: this.#busy.control.value };
    try {
      await post(this.#path, body, { key: this.#keyFor(body) });
    } catch (problem) {
      const rest = showErrors(new Map([["/prompt", this.#text], ["/whenBusy", this.#busy]]), problem.errors ?? []);
      if (rest.length === 0 && problem.errors?.length > 0) return;
      throw problem;
    }
    this.#sent = undefined;
    if (this.#text.control.value === prompt) this.#text.control.value = "";
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
