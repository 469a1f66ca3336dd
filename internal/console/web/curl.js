// Requests of the API as commands ready to paste into a terminal. The address and the token stay variables of the person's shell, as the
// README sets them: what is copied can be sent to a colleague. What the command says is what is seen: characters that show as nothing, or
// turn their neighbours around, stand in it as JSON's escapes.

import { byteLength } from "./bytes.js";
import { h, say } from "./dom.js";
import { unseen } from "./reveal.js";

/** A program's argument may have 128 KiB on Linux; a longer body is given on standard input. */
const longestArgument = 100_000;

/**
 * The command for a request: curl("POST", "/executions", {…}).
 * The path is one that can stand in an address as it is.
 */
export function curl(method, path, body) {
  const words = ["curl -sS", `"$SIGNOFF_URL"${word(forCurl(path))}`, '-H "Authorization: Bearer $SIGNOFF_TOKEN"'];
  if (method !== (body === undefined ? "GET" : "POST")) words.splice(1, 0, `-X ${word(method)}`);
  const start = words.join(" ");
  if (body === undefined) return start;
  const lines = `${start} \\\n  -H 'Content-Type: application/json' \\\n  -d`;
  const json = visibleJSON(body);
  return byteLength(json) > longestArgument ? `${lines} @- <<'JSON'\n${json}\nJSON` : `${lines} ${quote(json)}`;
}

/** curl itself reads lists in brackets and braces as many addresses. */
function forCurl(path) {
  return path.replace(/[[\]{}]/g, encodeURIComponent);
}

/** JSON in which every character can be seen. No line of it is one that a person wrote, so none can end a here-document. */
function visibleJSON(body) {
  return JSON.stringify(body, null, 2).replace(hidden, (character) => character.replace(/[^]/g, escape));
}

const hidden = new RegExp(`(?![ \\n])${unseen}`, "gu");

function escape(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A text as one word of sh. */
export function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function word(text) {
  return /^[A-Za-z0-9_./:@%+,=-]*$/.test(text) ? text : quote(text);
}

/** A button that puts a text into the clipboard; `text` may be a function that makes it. It says itself what became of it. */
export function copyButton(label, text) {
  const button = h("button", { type: "button" }, label);
  let back;
  button.addEventListener("click", async () => {
    const done = await copy(typeof text === "function" ? text() : text, button);
    say(button, done ? "Copied" : "Could not copy: mark it by hand");
    clearTimeout(back);
    back = setTimeout(() => say(button, label), 3000);
  });
  return h("span", { class: "copy", "aria-live": "polite" }, button);
}

/** Over plain HTTP from another machine a browser has no clipboard of the new kind. */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByHand(text, button);
  }
}

function copyByHand(text, button) {
  const area = h("textarea", { readonly: true, class: "off-screen", "aria-hidden": "true" });
  area.value = text;
  (button.closest("dialog") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  button.focus();
  return done;
}
