// The keys of the console, in a dialog that "?" opens.

import { h } from "./dom.js";

const all = [
  [["j", "↓"], "the next card"], [["k", "↑"], "the card before"],
  [["a"], "approve"], [["d"], "deny: asks for a reason first"], [["e"], "edit the arguments"],
  [["Enter"], "open the execution"], [["Escape"], "close a form"],
  [["g", "i"], "inbox"], [["g", "e"], "executions"], [["g", "n"], "new execution"], [["g", "r"], "permission rules"], [["g", "a"], "agents and models"],
  [["?"], "this list"],
];

/** Opens the list. Closing it, the focus is where it was. */
export function showKeys() {
  const title = h("h2", { id: "keys-title" }, "Keys");
  const close = h("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, "Close");
  const rows = all.map(([keys, text]) => h("div", {}, h("dt", {}, keys.map((key) => [h("kbd", {}, key), " "])), h("dd", {}, text)));
  const dialog = h("dialog", { class: "keys", "aria-labelledby": "keys-title", on: { close: () => dialog.remove() } }, h("div", { class: "stack" }, title,
    h("p", { class: "muted" }, "Those that decide act on the card that has the focus, and on no other."), h("dl", {}, rows), close));
  document.body.append(dialog);
  dialog.showModal();
}
