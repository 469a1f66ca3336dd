// The ways in which a person ends an execution, or has one go on that was interrupted. Cancelling asks once, since it cannot be taken back.

import { actButton } from "./act.js";
import { executionPath, get, post } from "./api.js";
import { h } from "./dom.js";
import { field } from "./field.js";
import { lookup } from "./lookup.js";
import { reveal } from "./reveal.js";

/** The button that cancels, with its question. `stopping(execution)` is called with what the server answered. */
export class Cancel {
  element = h("button", { type: "button", class: "danger", on: { click: () => this.#ask() } }, "Cancel execution");
  #dialog;
  #reason = field("Reason", h("textarea", { maxlength: 2000, rows: 2 }), "Kept in the log. May be empty.");

  constructor(id, stopping) {
    const cancel = actButton("Cancel it now", {
      className: "danger", doing: "Cancelling…",
      request: async () => {
        const reason = this.#reason.control.value.trim();
        stopping(await post(`${executionPath(id)}/cancel`, reason === "" ? {} : { reason }));
        this.#dialog.close();
      },
    });
    this.#dialog = h("dialog", { "aria-label": "Cancel execution" }, h("div", { class: "stack" }, h("h2", {}, "Cancel this execution?"),
      h("p", {}, "The agent and all of its processes are stopped. This cannot be undone."), this.#reason.element,
      h("div", { class: "row spread" }, h("button", { type: "button", on: { click: () => this.#dialog.close() } }, "Keep it running"), cancel.element)));
  }

  #ask() {
    this.element.after(this.#dialog);
    this.#dialog.showModal();
    this.#reason.control.focus();
  }

  /** It has ended: there is nothing to cancel any more. */
  end() {
    this.#dialog.close();
    this.#dialog.remove();
    this.element.remove();
  }
}

/** The button that ends an execution which stays open, after its queued prompts. It asks first if that cancels agents below. */
export function closeButton(id, closing) {
  const path = `${executionPath(id)}/close`;
  const close = async () => closing(await post(path));
  const { element } = actButton("Close execution", {
    doing: "Closing…",
    request: async () => {
      const { cancels } = await get(path);
      if (cancels.length === 0) return close();
      const dialog = closeDialog(cancels, close);
      element.after(dialog);
      dialog.showModal();
    },
  });
  return element;
}

function closeDialog(cancels, close) {
  const confirm = actButton("Close, and cancel them", { className: "danger", doing: "Closing…", request: async () => { await close(); dialog.close(); } });
  const dialog = h("dialog", { "aria-label": "Close execution", on: { close: () => dialog.remove() } }, h("div", { class: "stack" },
    h("h2", {}, "Close this execution?"), h("p", {}, "Agents below it are at work. Those that still are when it ends are cancelled:"),
    h("ul", {}, cancels.map(({ parent }) => h("li", {}, reveal(parent.name), ", asked “", reveal(parent.path.at(-1).asked), "”"))),
    h("div", { class: "row spread" }, h("button", { type: "button", on: { click: () => dialog.close() } }, "Keep it open"), confirm.element)));
  return dialog;
}

const modes = [
  ["retry", "Repeat the request", "The request to the model that failed is sent again. No tool call is repeated."],
  ["load", "Take its session up again", "The agent continues its session. It learns that it was stopped."],
  ["fresh", "Begin the turn anew", "A new session of the agent gets the turn's prompt again. What was done may be done twice."],
  ["fail", "End it", "The execution has failed. Where it wrote blocks before, only this turn has, and they can still be accepted."],
];

// A server before causes were told interrupted only what had lost its process.
const causes = {
  provider: { modes: ["retry", "fail"], why: "The request to its model failed." },
  recovery: { modes: ["retry", "fail"], why: "It was recovered again and again without progress." },
  processGone: { modes: ["load", "fresh", "fail"], why: "Its agent was lost in the middle of a turn." },
  dailyBudget: { modes: ["retry", "fail"], external: ["load", "fresh", "fail"], why: "The budget of the day is spent." },
};

/** How an execution that was interrupted can go on, and why it was. An external agent that the budget has stopped has lost its process. */
export function waysOn({ cause, agent }) {
  const { modes, external, why } = lookup(causes, cause) ?? causes.processGone;
  return { modes: external && agent?.source?.type === "acp" ? external : modes, why };
}

/** What to choose from where an execution is interrupted. */
export class Interrupted {
  element = h("section", { class: "interrupted-choice notice warn stack", "aria-label": "Interrupted", hidden: true });
  #why = h("p");
  #choices = new Map(); // mode → its elements

  constructor(id) {
    const path = `${executionPath(id)}/resume`;
    for (const [mode, label, meaning] of modes) {
      const { element } = actButton(label, { className: mode === "fail" ? "danger" : "", doing: "Under way…", request: () => post(path, { mode }) });
      this.#choices.set(mode, [h("dt", {}, element), h("dd", { class: "small" }, meaning)]);
    }
    this.element.append(h("h2", {}, "How should it continue?"), this.#why, h("dl", { class: "choices" }, [...this.#choices.values()]));
  }

  show(standing) {
    const { status, statusReason } = standing;
    this.element.hidden = status !== "interrupted";
    const { modes: open, why } = waysOn(standing);
    for (const [mode, elements] of this.#choices) for (const element of elements) element.hidden = !open.includes(mode);
    this.#why.textContent = statusReason || why;
  }
}
