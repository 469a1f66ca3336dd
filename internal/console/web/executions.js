// All executions, newest first, a page at a time. The newest page is read again every five seconds while somebody can see it.

import { Problem, executionPath, get, sleep } from "./api.js";
import { age } from "./clock.js";
import { attribute, fill, h, keyed, say } from "./dom.js";
import { amount, ended, plural, shortId, words } from "./format.js";
import { Listing } from "./listing.js";
import { loading, olderButton } from "./loading.js";
import { revealText, revealed } from "./reveal.js";

const live = ["queued", "initializing", "waiting", "streaming", "pendingToolApproval", "executingTool", "idle", "interrupted"];
const pause = 5000;

/** Draws the list; #/executions?status=failed&status=timedOut shows these alone. */
export function showExecutions(page) {
  new Executions(page).open();
}

class Executions {
  constructor({ main, signal, query }) {
    Object.assign(this, { main, signal, statuses: query.getAll("status"), reading: new AbortController() });
    this.place = h("div", { class: "stack" });
    this.state = h("p", { class: "small refresh-state", role: "status" });
    this.news = h("button", { type: "button", class: "news", data: { idle: "" }, on: { click: () => this.bringUp() } });
  }

  open() {
    this.main.append(
      h("div", { class: "row spread" }, h("h1", {}, "Executions"), h("a", { class: "button primary", href: "#/new" }, "New execution")),
      h("div", { class: "toolbar listing" }, this.filter(), this.news),
      this.place,
      this.state);
    this.read();
  }

  filter() {
    const select = h("select", { id: "status" }, choices(this.statuses).map(({ statuses, text }) => h("option", { value: statuses.join(" ") }, text)));
    select.value = this.statuses.join(" ");
    select.addEventListener("change", () => this.choose(select.value === "" ? [] : select.value.split(" ")));
    return [h("label", { for: "status" }, "Status"), select];
  }

  /** The address keeps the choice, so that it can be bookmarked and a reload shows the same. */
  choose(statuses) {
    this.statuses = statuses;
    history.replaceState(null, "", `#/executions${statuses.length === 0 ? "" : `?${new URLSearchParams(statuses.map((one) => ["status", one]))}`}`);
    this.read();
  }

  read() {
    this.reading.abort();
    this.reading = new AbortController();
    const signal = AbortSignal.any([this.signal, this.reading.signal]);
    say(this.state, "");
    this.offer("");
    return loading(this.place, signal, () => this.page(signal), (page) => {
      this.listing = new Listing(page);
      this.drawList(signal);
      this.follow(signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
    });
  }

  page(signal, cursor) {
    return get("/executions", { status: this.statuses, cursor }, { signal });
  }

  drawList(signal) {
    this.rows = h("tbody", { role: "rowgroup" });
    this.empty = h("p", { class: "empty" }, this.statuses.length === 0 ? "There is no execution yet." : "There is no execution in this status.");
    const head = columns.map(({ name }) => h("th", { role: "columnheader", scope: "col" }, name));
    this.table = h("table", { class: "cards", role: "table", "aria-label": "Executions" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)), this.rows);
    this.older = olderButton(async () => {
      const next = this.listing.shown.length;
      this.listing.append(await this.page(signal, this.listing.older));
      this.draw();
      return this.rows.children[next]?.querySelector("a");
    });
    fill(this.place, this.empty, this.table, this.older);
    this.draw();
  }

  draw() {
    const { shown, older, waiting, gone } = this.listing;
    keyed(this.rows, shown, (execution) => execution.id, makeRow, updateRow);
    attribute(this.table, "hidden", shown.length === 0);
    attribute(this.empty, "hidden", shown.length > 0);
    attribute(this.older, "hidden", older === null);
    this.offer(waiting > 0 ? `Show ${waiting} new` : gone.length > 0 ? "Tidy up" : "");
  }

  /** The button has its place also while there is nothing to offer, so that nothing moves when there is. */
  offer(text) {
    attribute(this.news, "data-idle", text === "" ? "" : null);
    if (text !== "") say(this.news, text);
  }

  bringUp() {
    this.listing.bringUp();
    this.draw();
    this.rows.querySelector("a")?.focus(); // the button is gone
  }

  async follow(signal) {
    for (;;) {
      await sleep(pause, signal);
      await seen(signal);
      await this.refresh(signal);
    }
  }

  async refresh(signal) {
    try {
      this.listing.refresh(await this.page(signal));
      for (const execution of this.listing.gone) await this.look(execution, signal);
      this.failedSince = undefined;
      say(this.state, "");
      this.draw();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.failedSince ??= new Date().toLocaleTimeString();
      say(this.state, `Not brought up to date since ${this.failedSince}: ${revealText(problem.message)} Trying again.`);
    }
  }

  /** One that is no longer in the list keeps its place, and says what has become of it. */
  async look(execution, signal) {
    if (ended.includes(execution.status) || execution.status === "deleted") return;
    try {
      this.listing.replace(await get(`/executions/${execution.id}`, {}, { signal }));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      this.listing.replace({ ...execution, status: "deleted" });
    }
  }
}

/** What can be chosen, and what the address has besides. */
function choices(chosen) {
  const each = [...live, ...ended].map((status) => ({ statuses: [status], text: words(status) }));
  const all = [{ statuses: [], text: "All" }, { statuses: live, text: "Not ended" }, ...each];
  const known = all.some(({ statuses }) => statuses.join() === chosen.join());
  return known ? all : [...all, { statuses: chosen, text: chosen.map((status) => revealText(words(status))).join(", ") }];
}

/** Resolves when the page can be seen. */
function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true, signal })).then(() => seen(signal));
}

const columns = [
  { name: "Status", class: "status", update: updateStatus },
  { name: "Prompt", class: "what", make: makeWhat, update: updateWhat },
  { name: "Agent", class: "agent", text: (execution) => sourceText(execution.source) },
  { name: "Turn", class: "number", text: (execution) => amount(execution.turn) },
  { name: "Tokens", class: "number", text: (execution) => amount(execution.usage.totalTokens) },
  { name: "Created", class: "when", make: (execution) => age(h("time", { datetime: execution.createdAt }), execution.createdAt) },
];

function makeRow(execution) {
  const cell = (column) => h("td", { role: "cell", class: column.class, data: { label: column.name } }, column.make?.(execution));
  return h("tr", { role: "row" }, columns.map(cell));
}

function updateRow(row, execution) {
  for (const [at, column] of columns.entries()) {
    const cell = row.children[at];
    if (column.text !== undefined) say(cell, column.text(execution));
    column.update?.(cell, execution);
  }
}

function updateStatus(cell, { status, pendingApprovals }) {
  const badge = cell.firstElementChild ?? cell.appendChild(h("span", { class: "badge" }));
  attribute(badge, "data-status", status);
  say(badge, revealText(words(status)));
  attribute(badge, "title", pendingApprovals.length > 1 ? plural(pendingApprovals.length, "approval") : null);
}

function makeWhat(execution) {
  return [h("a", { class: "prompt", href: `#${executionPath(execution.id)}` }), h("span", { class: "muted small" })];
}

function updateWhat(cell, execution) {
  const [link, about] = cell.children;
  const text = beginning(execution.prompt ?? execution.messages?.at(-1)?.content ?? "");
  if (link.dataset.text !== text) {
    link.dataset.text = text;
    fill(link, text.trim() === "" ? "without a prompt" : revealed(text));
  }
  const kind = execution.kind === "agent" ? null : words(execution.kind);
  say(about, [execution.block?.name, kind, shortId(execution.id)].filter(Boolean).map(revealText).join(" · "));
}

/** The first characters, whole ones, and a sign that there are more. */
function beginning(text) {
  const characters = [...text.slice(0, 400)];
  return characters.length > 160 ? `${characters.slice(0, 160).join("")}…` : characters.join("");
}

function sourceText({ type, model, command }) {
  return [type === "acp" ? command : type, model].filter(Boolean).map(revealText).join(" · ");
}
