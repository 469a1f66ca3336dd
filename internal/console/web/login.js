// What stands here until the tab has a token.

import { h } from "./dom.js";
import { keepToken } from "./token.js";

/** Draws the door. The reason tells why a token was lost; empty: there was none. enter() is called when there is a token. */
export function showLogin({ main, shell, enter, reason }) {
  shell.title("");
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "token-hint token-error" });
  const error = h("p", { id: "token-error", class: "error", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    if (keepToken(input.value)) return enter();
    error.textContent = "This is neither a token nor a link that has one.";
    input.focus();
  };
  main.append(
    h("form", { class: "card door", on: { submit } },
      h("h1", {}, "Signoff"),
      reason === "" ? null : h("p", { class: "notice warn", role: "alert" }, reason),
      h("p", {}, "This tab has no token. Open the link that ", h("code", {}, "signoff console"), " prints, or paste it here, or a token."),
      h("div", { class: "field" },
        h("label", { for: "token" }, "Link or token"),
        input,
        h("p", { id: "token-hint", class: "hint" }, "It is kept in this tab alone, and is gone when the tab is closed."),
        error),
      h("button", { class: "primary" }, "Come in")));
  input.focus();
}
