// The console's frame: who may come in, which page is open, how the connection is. A page is a module with one function that draws it
// into <main>, and stops all that it began when its signal is aborted.

import { onUnauthenticated } from "./api.js";
import { attribute, fill, h, say } from "./dom.js";
import { showExecution } from "./execution.js";
import { showExecutions } from "./executions.js";
import { showInbox } from "./inbox.js";
import { showLogin } from "./login.js";
import { showNew } from "./new.js";
import { pending } from "./pending.js";
import { showRegistry } from "./registry.js";
import { showRules } from "./rules.js";
import { forgetToken, takeToken, token } from "./token.js";

const pages = [
  { path: "/inbox", title: "Inbox", show: showInbox, key: "i" },
  { path: "/executions", title: "Executions", show: showExecutions, key: "e" },
  { path: "/new", title: "New", show: showNew, key: "n" },
  { path: "/rules", title: "Rules", show: showRules, key: "r" },
  { path: "/registry", title: "Agents", show: showRegistry, key: "a" },
];
const execution = { path: "/executions/", title: "Execution", show: showExecution };

const main = document.getElementById("main");
const links = new Map();
let leave = new AbortController(); // the page that is open

/** What a page may ask of its frame. */
const shell = {
  /** The heading of the browser's tab. */
  title(text) {
    document.title = text === "" ? "Signoff" : `${text} · Signoff`;
  },

  /** Opens another page: go("/executions/…"). */
  go(path) {
    location.hash = path;
  },

  /** Says something that passes, such as what has just been done. */
  toast(text, kind = "info") {
    const note = h("p", { class: `toast ${kind}` }, text);
    document.querySelector(".toasts").append(note);
    setTimeout(() => note.remove(), 6000);
  },

  /** Says how the connection of one stream is: see Reader in stream.js. */
  connection(of, state) {
    connections.set(of, state);
    showConnection();
  },
};

const connections = new Map();

function showConnection() {
  const states = [...connections.values()];
  const worst = ["failed", "reconnecting", "connecting", "live"].map((name) => states.find((state) => state.name === name)).find((state) => state !== undefined);
  const line = document.querySelector(".connection");
  attribute(line, "data-state", worst?.name ?? "none");
  attribute(document.body, "data-connection", worst?.name ?? "none");
  say(line, { failed: "Stopped", reconnecting: "Connection lost, trying again", connecting: "Connecting", live: "Live" }[worst?.name] ?? "");
}

/** Opens the page that the address names; without a token, the door, which says why there is none any more. */
function open(reason = "") {
  leave.abort();
  leave = new AbortController();
  connections.clear();
  showConnection();
  fill(main);
  main.className = "";
  attribute(document.body, "data-page", "");
  if (token() === null) return void showLogin({ main, shell, enter, reason });
  const [path, query = ""] = location.hash.slice(1).split("?");
  const page = pages.find((one) => one.path === path) ?? (path.startsWith(execution.path) ? execution : pages[0]);
  for (const [of, link] of links) attribute(link, "aria-current", of === page.path || (page === execution && of === "/executions") ? "page" : null);
  attribute(document.body, "data-page", page.title.toLowerCase());
  shell.title(page.title);
  pending.connect(shell, leave.signal);
  page.show({ main, shell, signal: leave.signal, id: decoded(path.slice(execution.path.length)), query: new URLSearchParams(query) });
}

/** An id out of the address, where anything may stand. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Opens the page that the address names, now that there is a token. */
function enter() {
  pending.start();
  open();
}

function drawNavigation() {
  const nav = document.querySelector("nav");
  for (const { path, title, key } of pages) {
    const link = h("a", { href: `#${path}`, title: `${title} (g, then ${key})` }, title);
    links.set(path, link);
    nav.append(link);
  }
  const badge = h("span", { class: "count", hidden: true });
  links.get("/inbox").append(" ", badge);
  pending.onChange(() => {
    const count = pending.count();
    say(badge, count.text);
    attribute(badge, "hidden", count.number === 0);
    attribute(badge, "aria-label", `${count.text} waiting`);
  });
}

/** g and a letter opens a page, ? lists the keys; not while somebody types. */
function listenToKeys() {
  let went = -Infinity; // when g was pressed
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
    if (event.key === "g") {
      went = event.timeStamp;
      return;
    }
    const page = pages.find((one) => one.key === event.key);
    if (event.timeStamp - went < 1500 && page !== undefined) {
      event.preventDefault();
      shell.go(page.path);
    }
    went = -Infinity;
  });
}

takeToken();
drawNavigation();
listenToKeys();
onUnauthenticated(() => {
  if (token() === null) return;
  forgetToken();
  pending.stop();
  open("The server does not take this token any more.");
});
window.addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  if (location.hash.startsWith("#token=")) {
    takeToken();
    return enter();
  }
  open();
  main.focus({ preventScroll: true });
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
if (token() === null) open();
else enter();
