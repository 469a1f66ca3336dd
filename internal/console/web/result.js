// What came of an execution.

import { fill, h } from "./dom.js";
import { amount, measured, words } from "./format.js";
import { showJSON } from "./json.js";
import { Markdown } from "./markdown.js";
import { reveal } from "./reveal.js";

export class Result {
  element = h("section", { class: "result card", "aria-label": "Output", hidden: true });
  #sight;
  #markdown;

  constructor(sight) {
    this.#sight = sight;
  }

  /**
   * @param ended the data of the terminal event
   * @param output of the execution, which has more of the text; null: it is not there yet
   * @param said the last message above: nobody wants to read it twice
   */
  show(ended, output, said) {
    const what = output ?? ended.output;
    this.#markdown?.leave();
    this.element.hidden = false;
    fill(this.element, h("h2", {}, "Output"), this.#how(ended, what), this.#text(what, said), structured(what.structured),
      what.truncated && h("p", { class: "notice warn small" }, "Only the beginning is shown; the raw events have the rest."));
  }

  #how({ status, reason, cancelledBy, error, finishReason }, what) {
    const failure = what.error ?? error;
    const calls = what.toolCallsExecuted?.length ?? 0;
    return [
      h("p", {}, h("span", { class: "badge", "data-status": status }, words(status)),
        ` ${words(String(finishReason))}, after ${measured(what.durationSeconds * 1000)}, with ${amount(calls)} tool ${calls === 1 ? "call" : "calls"}.`),
      cancelledBy && h("p", {}, "Cancelled by ", h("strong", {}, reveal(cancelledBy.name)), reason ? [": ", reveal(reason)] : "."),
      failure && h("p", { class: "notice error" }, h("strong", { class: "mono" }, reveal(failure.code)), " ", reveal(failure.message)),
    ];
  }

  #text({ text, structured: value }, said) {
    if (!text || (value !== null && value !== undefined)) return null;
    const body = h("div");
    this.#markdown = new Markdown(body, this.#sight);
    this.#markdown.append(text);
    this.#markdown.end();
    return text === said ? h("details", {}, h("summary", {}, "Its text is the last message above"), body) : body;
  }
}

function structured(value) {
  return value === null || value === undefined ? null : h("pre", { class: "code" }, reveal(showJSON(value)));
}
