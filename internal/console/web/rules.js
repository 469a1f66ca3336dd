// What was remembered of decisions, and what operators have laid down. A rule can be revoked, which cannot be taken back.

import { Problem, executionPath, get, remove } from "./api.js";
import { age, expiry, now } from "./clock.js";
import { attribute, fill, h, keyed, say, uniqueId } from "./dom.js";
import { amount, moment, plural, shortId } from "./format.js";
import { showJSON } from "./json.js";
import { busy, isBusy, loading, olderButton } from "./loading.js";
import { consequence, matcherParts, stateOf } from "./matcher.js";
import { revealText, revealed } from "./reveal.js";
import { revealedCall } from "./suspect.js";

/** Draws the rules; #/rules?scope=global&ended=true&executionId=… shows these alone. */
export function showRules(page) {
  new Rules(page).open();
}

const scopes = [["", "All"], ["global", "All executions"], ["tree", "One tree"], ["execution", "One execution"]];

class Rules {
  constructor({ main, signal, query }) {
    Object.assign(this, { main, signal, reading: new AbortController() });
    this.filter = Object.fromEntries(["scope", "ended", "executionId"].map((name) => [name, query.get(name) ?? ""]));
    this.place = h("div", { class: "stack" });
  }

  open() {
    this.main.append(h("h1", {}, "Permission rules"), this.drawFilter(), this.place);
    this.read();
  }

  drawFilter() {
    const scope = h("select", { id: "scope" }, scopes.map(([value, text]) => h("option", { value }, text)));
    const ended = h("input", { type: "checkbox", id: "ended" });
    scope.value = this.filter.scope;
    ended.checked = this.filter.ended === "true";
    scope.addEventListener("change", () => this.choose({ scope: scope.value }));
    ended.addEventListener("change", () => this.choose({ ended: ended.checked ? "true" : "" }));
    return h("div", { class: "row toolbar" },
      h("label", { for: "scope" }, "Scope"), scope,
      h("div", { class: "choice" }, ended, h("label", { for: "ended" }, "Also revoked and expired ones")),
      this.filter.executionId === "" ? null : this.drawExecution());
  }

  drawExecution() {
    return h("p", {}, "Of execution ", executionLink(this.filter.executionId), " · ", h("a", { href: "#/rules" }, "of all"));
  }

  choose(change) {
    Object.assign(this.filter, change);
    const query = new URLSearchParams(Object.entries(this.filter).filter(([, value]) => value !== ""));
    history.replaceState(null, "", `#/rules${query.size === 0 ? "" : `?${query}`}`);
    this.read();
  }

  read() {
    this.reading.abort();
    this.reading = new AbortController();
    const signal = AbortSignal.any([this.signal, this.reading.signal]);
    return loading(this.place, signal, () => this.page(signal), (page) => this.drawList(page, signal));
  }

  page(signal, cursor) {
    return get("/permission-rules", { ...this.filter, cursor }, { signal });
  }

  drawList(page, signal) {
    let { items, nextCursor } = page;
    const list = h("div", { class: "stack" });
    const none = h("p", { class: "empty" }, "There is no rule. What a person decides once and for all is remembered here.");
    const older = olderButton(async () => {
      const next = items.length;
      const more = await this.page(signal, nextCursor);
      items = [...items, ...more.items];
      nextCursor = more.nextCursor;
      draw();
      return list.children[next]?.querySelector("summary");
    });
    const draw = () => {
      keyed(list, items, (rule) => rule.id, (rule) => new RuleCard(rule, this.main).element);
      attribute(none, "hidden", items.length > 0);
      attribute(older, "hidden", nextCursor === null);
    };
    fill(this.place, none, list, older);
    draw();
  }
}

/** One rule, which may be revoked while it is shown. */
class RuleCard {
  constructor(rule, main) {
    this.main = main;
    this.heading = h("h2", { id: uniqueId("rule"), tabindex: "-1" }, revealedCall(rule.description));
    this.element = h("article", { class: "card rule", "aria-labelledby": this.heading.id });
    this.draw(rule);
  }

  draw(rule) {
    this.rule = rule;
    const state = stateOf(rule, now());
    attribute(this.element, "data-state", state);
    fill(this.element,
      h("div", { class: "row" }, badge(rule.effect, rule.effect), state === "holds" ? null : badge(state)),
      this.heading,
      h("ul", { class: "matcher" }, matcherParts(rule.matcher).map(drawPart)),
      (rule.warnings ?? []).map((warning) => h("p", { class: "notice warn small" }, revealedCall(warning))),
      this.facts(state),
      h("details", {}, h("summary", {}, "Matcher as JSON"), h("pre", { class: "code" }, revealedCall(showJSON(rule.matcher)))),
      state === "holds" ? h("div", { class: "row" }, h("button", { type: "button", class: "danger", on: { click: () => this.ask() } }, "Revoke")) : null);
  }

  facts(state) {
    const { rule } = this;
    const facts = [
      ["Holds for", rule.executionId === null ? "all executions" : [rule.scope === "tree" ? "execution and all below it: " : "execution ", executionLink(rule.executionId)]],
      ["Hits", [amount(rule.hits), rule.lastHitAt === null ? null : [", last ", ago(rule.lastHitAt)]]],
      ["Made", [ago(rule.createdAt), " by ", revealed(rule.createdBy.name), rule.approvalId === null ? null : ", who had a decision remembered"]],
      ["Ends", this.end(state)],
    ];
    return h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  end(state) {
    const { revokedAt, expiresAt, executionId } = this.rule;
    if (state === "revoked") return `revoked ${moment(revokedAt)}`;
    if (state === "expired") return `expired ${moment(expiresAt)}`;
    if (expiresAt !== null) return expiry(h("span", {}), expiresAt);
    return executionId === null ? "never" : "with its execution";
  }

  /** Asks once more, and says what will happen. */
  ask() {
    const title = uniqueId("revoke");
    const error = h("p", { class: "error", role: "alert" });
    const yes = h("button", { type: "button", class: "danger", on: { click: () => this.revoke(dialog, yes, error) } }, "Revoke the rule");
    const dialog = h("dialog", { "aria-labelledby": title, on: { close: () => dialog.remove() } },
      h("div", { class: "stack" },
        h("h2", { id: title }, `Revoke this ${revealText(this.rule.effect)} rule?`),
        h("p", {}, revealedCall(this.rule.description)),
        h("p", {}, consequence(this.rule.effect)),
        h("p", {}, `It has decided ${plural(this.rule.hits, "time")}. A rule that is revoked cannot be taken up again.`),
        error,
        h("div", { class: "row spread" }, h("button", { type: "button", autofocus: true, on: { click: () => dialog.close() } }, "Keep it"), yes)));
    this.main.append(dialog);
    dialog.showModal();
  }

  async revoke(dialog, button, error) {
    if (isBusy(button)) return;
    busy(button, true);
    say(error, "");
    try {
      const rule = await remove(`/permission-rules/${encodeURIComponent(this.rule.id)}`);
      dialog.close();
      this.draw(rule);
      this.heading.focus();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      busy(button, false);
      say(error, revealText(problem.message));
    }
  }
}

function drawPart({ text, value }) {
  return h("li", {}, revealedCall(text), value === undefined ? null : [" ", h("code", {}, revealedCall(value))]);
}

function badge(text, status) {
  return h("span", { class: "badge", data: status === undefined ? {} : { status } }, revealText(text));
}

function ago(time) {
  return age(h("time", { datetime: time }), time);
}

function executionLink(id) {
  return h("a", { href: `#${executionPath(id)}` }, revealText(shortId(id)));
}
