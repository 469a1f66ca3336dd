// A tap is one request: while it is under way its button is off and says so, and after an error it is on again and the error stands beside it.

import { fill, h, say } from "./dom.js";
import { busy, isBusy } from "./loading.js";
import { reveal } from "./reveal.js";

/**
 * A button for a request of the API, with its error.
 * @param {string} label
 * @param {{className?: string, type?: string, doing: string, request: () => Promise<unknown>}} how doing is what it says meanwhile; a request that
 *   returns false has not been sent
 * @returns {{element: HTMLElement, button: HTMLButtonElement, act(): Promise<void>}}
 */
export function actButton(label, { className = "", type = "button", doing, request }) {
  const button = h("button", { type, class: className }, label);
  const error = h("p", { class: "error", role: "alert" });
  const act = async () => {
    if (isBusy(button)) return;
    busy(button, true);
    say(button, doing);
    fill(error);
    try {
      await request();
    } catch (problem) {
      fill(error, reveal(problem.message));
    } finally {
      busy(button, false);
      say(button, label);
    }
  };
  if (type === "button") button.addEventListener("click", act);
  return { element: h("div", { class: "act row" }, button, error), button, act };
}
