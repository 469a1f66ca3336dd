// The inbox: every question that waits, the oldest first. New ones come at the end, decided ones stay where they are and say who decided: nothing moves
// under a finger.

import { executionPath } from "./api.js";
import { approvalCard } from "./approval.js";
import { attribute, h, keyed, painter, say } from "./dom.js";
import { showKeys } from "./keys.js";
import { bell } from "./notify.js";
import { pending } from "./pending.js";
import { revealText, revealed } from "./reveal.js";
import { Trees } from "./trees.js";

/** Draws the page. */
export function showInbox({ main, shell, signal }) {
  const inbox = new Inbox(shell);
  main.append(...inbox.elements);
  const end = pending.onChange(painter(() => !signal.aborted && inbox.draw()));
  signal.addEventListener("abort", end, { once: true });
  bell.onChange(() => inbox.bell(), signal);
  document.addEventListener("keydown", (event) => inbox.key(event), { signal });
  inbox.draw();
}

class Inbox {
  constructor(shell) {
    this.shell = shell;
    this.cards = new WeakMap();
    this.trees = new Trees();
    this.count = h("p", { class: "muted", role: "status" });
    this.ringer = h("button", { type: "button", class: "small", on: { click: () => bell.turn() } });
    this.clear = h("button", { type: "button", class: "small absent", on: { click: () => this.clearDecided() } }, "Clear decided");
    this.problem = h("p", { class: "notice error absent", role: "alert" });
    this.list = h("div", { class: "stack inbox" });
    this.empty = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "All quiet.")),
      h("p", {}, "Requests of agents appear here. You can leave this page open."));
    this.more = h("button", { type: "button", hidden: true, on: { click: () => this.getMore() } }, "Show more");
    this.heading = h("h1", { tabindex: "-1" }, "Inbox");
    const keys = h("button", { type: "button", class: "small quiet keys-button", on: { click: showKeys } }, "Keys ", h("kbd", {}, "?"));
    this.elements = [
      h("div", { class: "row spread inbox-top" }, h("div", { class: "row" }, this.heading, this.count), h("div", { class: "row" }, this.clear, this.ringer, keys)),
      this.empty, this.list, this.more, h("div", { class: "trouble" }, this.problem), // below the cards: what comes and goes moves none of them
    ];
    this.bell();
  }

  draw() {
    const entries = pending.entries();
    keyed(this.list, this.trees.rows(entries), ({ key }) => key, ({ head, entry }) => (head ? treeHead(head) : this.card(entry)),
      (element, { entry }) => entry && this.cards.get(element).update(entry.approval));
    this.complain();
    attribute(this.more, "hidden", !pending.hasMore);
    this.clear.classList.toggle("absent", entries.every(({ approval }) => approval.status === "pending"));
    this.say(entries);
  }

  /** Why the list is not what it should be. Its place stays when it is empty. */
  complain() {
    const { problem, halted } = pending;
    const text = problem?.message ?? (halted && `${halted.message} The list is asked for every quarter of a minute instead.`);
    say(this.problem, revealText(text ?? ""));
    this.problem.classList.toggle("absent", !text);
  }

  card({ approval, fresh }) {
    const card = approvalCard(approval, { shell: this.shell, onDecided: (decided) => pending.take(decided) });
    card.element.classList.toggle("fresh", fresh);
    this.cards.set(card.element, card);
    return card.element;
  }

  say(entries) {
    const { number, text } = pending.count();
    const known = pending.loaded && pending.problem === null;
    this.shell.title(number === 0 ? "Inbox" : `Inbox (${text})`);
    say(this.count, number > 0 ? waiting(number, text) : known ? "Nothing waits for you" : pending.problem === null ? "Loading…" : "");
    attribute(this.empty, "hidden", !known || number > 0 || entries.length > 0);
  }

  bell() {
    const { state } = bell;
    say(this.ringer, state === "on" ? "Notifications are on" : "Notify me");
    attribute(this.ringer, "aria-pressed", state === "on" ? "true" : "false");
    attribute(this.ringer, "hidden", state === "missing");
    attribute(this.ringer, "disabled", state === "refused");
    attribute(this.ringer, "title", state === "refused" && "The browser's settings refuse notifications of this page.");
  }

  clearDecided() {
    pending.clearDecided();
    this.heading.focus();
  }

  async getMore() {
    attribute(this.more, "disabled", true);
    await pending.more();
    attribute(this.more, "disabled", false);
  }

  // ——— keys ———

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    if (event.key === "?") return showKeys();
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined || (event.key.startsWith("Arrow") && !this.onCard())) return;
    event.preventDefault();
    this.step(step);
  }

  /** Arrows go from card to card when one has the focus; else they scroll. */
  onCard() {
    return document.activeElement.matches(".approval");
  }

  step(by) {
    const cards = [...this.list.querySelectorAll(".approval")];
    const at = cards.indexOf(document.activeElement.closest(".approval"));
    const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(Math.max(at + by, 0), cards.length - 1)];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }
}

/** The head above the cards of one tree: a link to its root. */
function treeHead({ root, name, asked }) {
  return h("p", { class: "tree-head" }, h("a", { href: `#${executionPath(root)}` }, revealed(name || "agent")), asked && h("span", { class: "muted" }, ", asked “",
    revealed(asked), "”"));
}

function waiting(number, text) {
  if (text === "more") return "More questions wait for you";
  return number === 1 && text === "1" ? "1 question waits for you" : `${text} questions wait for you`;
}
