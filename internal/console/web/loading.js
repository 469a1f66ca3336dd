// A part of a page that the API has to be asked for.

import { Problem } from "./api.js";
import { attribute, fill, h } from "./dom.js";
import { revealed } from "./reveal.js";

/** Reads something and draws it into its place; says that it loads, and where it cannot be read why, with a button that tries again. */
export async function loading(place, signal, read, draw) {
  fill(place, h("p", { class: "muted", role: "status" }, "Loading…"));
  try {
    const found = await read();
    if (!signal.aborted) draw(found);
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    fill(place, failure(problem, () => loading(place, signal, read, draw)));
  }
}

/** Says what went wrong, in the words of the API. */
export function failure(problem, again) {
  const button = h("button", { type: "button", on: { click: again } }, "Try again");
  return h("div", { class: "notice error row", role: "alert" }, h("p", {}, revealed(problem.message)), button);
}

/**
 * A button that gets another page of a list, for as long as its caller leaves it in sight. `read` returns what the focus goes to when
 * the button has gone; what it throws stands beside it.
 */
export function olderButton(read) {
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", { type: "button" }, "Older");
  const element = h("div", { class: "older row" }, button, error);
  button.addEventListener("click", async () => {
    if (isBusy(button)) return;
    busy(button, true);
    fill(error);
    try {
      const next = await read();
      if (element.hidden) next?.focus();
    } catch (problem) {
      if (problem instanceof Problem) fill(error, revealed(problem.message));
      else if (problem.name !== "AbortError") throw problem;
    } finally {
      busy(button, false);
    }
  });
  return element;
}

/** Turns a button off while it is under way. It keeps the focus, which one that is `disabled` loses. */
export function busy(button, yes) {
  attribute(button, "aria-disabled", yes ? "true" : null);
}

export function isBusy(button) {
  return button.getAttribute("aria-disabled") === "true";
}
