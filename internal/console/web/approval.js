// The card of one approval: all that a person needs to decide, letter by letter, and below it where to answer (decision.js). It is the same in the inbox and
// in the conversation. A card that was decided stays, and says by whom.

import { executionPath } from "./api.js";
import { argumentsView } from "./arguments.js";
import { askerView, confinementText, executionOf } from "./asker.js";
import { age, expiry } from "./clock.js";
import { DecisionForm } from "./decision.js";
import { diffView, diffsOf } from "./diff.js";
import { attribute, fill, h, say, uniqueId } from "./dom.js";
import { environmentChip, hostWarning, lendsView, riskText, splitReason } from "./environment.js";
import { moment, words } from "./format.js";
import { lookup } from "./lookup.js";
import { mcpToolView, pageView } from "./mcptool.js";
import { outcomeView } from "./outcome.js";
import { pathView } from "./path.js";
import { plainCard } from "./plain.js";
import { revealed } from "./reveal.js";
import { revealCall, revealedCall } from "./suspect.js";

/**
 * @param {object} approval as the API shows it
 * @param {object} options
 * @param {object} options.shell
 * @param {object} [options.execution] who asked; without it the card asks for it itself
 * @param {boolean} [options.inPlace] it stands in its own execution, and need not say which
 * @param {(approval: object) => void} [options.onDecided] called with what the server
 *   says of the approval behind a decision that was sent from this card, also one that came too late
 * @returns {{element: HTMLElement, update(approval: object): void}}
 */
export function approvalCard(approval, options) {
  try {
    const card = new Card(approval, options);
    return { element: card.element, update: (next) => card.take(next) };
  } catch (error) {
    return plainCard(approval, error, options.onDecided ?? (() => {}));
  }
}

class Card {
  constructor(approval, { shell, execution, inPlace = false, onDecided = () => {} }) {
    Object.assign(this, { approval, shell, inPlace, onDecided, given: execution });
    const title = uniqueId("approval");
    this.badge = h("span", { class: "badge" });
    this.left = expiry(h("span", { class: "expiry" }), approval.expiresAt);
    this.heading = h("h2", { id: title });
    this.shown = h("div", { class: "shown stack" });
    this.warning = h("div", { id: uniqueId("warning") });
    this.chip = h("span", {});
    const properties = { class: "approval card", tabindex: "0", "aria-labelledby": `${this.warning.id} ${title}`, data: { id: approval.id } };
    this.element = h("article", { ...properties, on: { keydown: (event) => this.key(event) } },
      this.warning, this.top(), this.heading, inPlace ? null : [pathView(approval.path), askerView(approval, execution)], this.shown);
    this.draw();
    this.answer();
  }

  top() {
    const { kind, requestedAt } = this.approval;
    return h("div", { class: "row spread small card-top" },
      h("span", { class: "row" }, this.badge, h("span", {}, lookup(kinds, kind) ?? words(String(kind))), this.chip),
      h("span", { class: "row muted times" }, age(h("span"), requestedAt), h("span", {}, this.left)));
  }

  draw() {
    const { approval } = this;
    fill(this.warning, hostWarning(approval));
    fill(this.chip, approval.environment && environmentChip(approval.environment));
    fill(this.heading, revealedCall(approval.summary || approval.tool));
    fill(this.shown, lendsView(approval.environment), whyView(approval), mcpToolView(approval), contentView(approval), factsView(approval), identityView(approval));
    this.status();
  }

  status() {
    const { status } = this.approval;
    attribute(this.element, "data-status", status);
    attribute(this.badge, "data-status", status);
    say(this.badge, words(status));
    if (status !== "pending") this.left.remove();
  }

  answer() {
    if (this.approval.status !== "pending") return void this.element.append(outcomeView(this.approval));
    this.form = new DecisionForm(this.approval, {
      shown: this.shown, editing: this.editing(),
      take: (next) => {
        this.take(next);
        this.onDecided(next);
      },
    });
    this.element.append(this.form.element);
  }

  /** Why the arguments cannot be edited, or "". */
  async editing() {
    if (Object.keys(this.approval.arguments ?? {}).length === 0) return "It has no arguments to edit.";
    const execution = this.given ?? (await executionOf(this.approval.executionId));
    return execution?.source?.type === "acp" ? "What an external agent asks for cannot be edited. Deny it, and say why." : "";
  }

  /** Takes a newer state. What is decided stays decided, whichever answer was slower; what a person is typing stays, where it still means the same. */
  take(next) {
    const before = this.approval;
    if (before.status !== "pending") return;
    this.approval = next;
    const focused = this.element.contains(document.activeElement) && document.activeElement !== this.element;
    try {
      this.change(before);
    } catch (error) {
      this.broken(error);
    }
    if (focused && !this.element.contains(document.activeElement)) this.element.focus({ preventScroll: true });
  }

  change(before) {
    if (this.plain !== undefined) this.plain.update(this.approval);
    else if (this.approval.status !== "pending") this.settle();
    else if (this.approval.argumentsHash !== before.argumentsHash) this.renew();
  }

  broken(error) {
    this.form = undefined;
    this.plain = plainCard(this.approval, error, this.onDecided, this.element);
  }

  settle() {
    this.status();
    this.form.settle(this.approval);
  }

  renew() {
    this.draw();
    this.form.renew(this.approval);
  }

  // ——— keys: only while the card or a button of it has the focus, and that can be seen ———

  key(event) {
    const { target, key } = event;
    if (target !== this.element && (key === "Enter" || !target.matches("button"))) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const act = this.went(event) ? undefined : keys[key];
    if (act === undefined || !act(this)) return;
    event.preventDefault();
    event.stopPropagation(); // what decides here must not open a page as well
  }

  /** g is the first of two keys that open a page (main.js): g and then a must not approve. */
  went(event) {
    const went = event.timeStamp - (this.wentAt ?? -Infinity) < 1500;
    this.wentAt = event.key === "g" ? event.timeStamp : undefined;
    return went;
  }

  open() {
    if (!this.inPlace) this.shell.go(executionPath(this.approval.executionId));
    return !this.inPlace;
  }
}

const keys = {
  a: (card) => card.form?.press("approve"),
  d: (card) => card.form?.press("deny"),
  e: (card) => card.form?.press("edit"),
  Enter: (card) => card.open(),
};

const kinds = { toolCall: "Tool call", agentPermission: "An agent's own call", question: "Question", unknownOutcome: "Outcome unknown" };

// ——— what it shows ———

function whyView(approval) {
  const { askedBy } = approval;
  const { rest: reason } = splitReason(approval);
  if (!reason && !askedBy) return null;
  const look = lookup(looks, askedBy) ?? "";
  return h("p", { class: `notice ${look}` }, askedBy && h("strong", {}, `${lookup(asks, askedBy) ?? askedBy} `), reason && revealCall(reason));
}

const looks = { catastrophic: "error", bashPolicy: "warn", pin: "warn", server: "warn" };

const asks = {
  capability: "The execution's capabilities ask.", bashPolicy: "The rules for commands ask.", catastrophic: "This is always asked about.",
  rule: "A permission rule asks.", pin: "The definition of the tool has changed.", server: "The server stopped meanwhile.",
};

function contentView(approval) {
  const diffs = diffsOf(approval);
  return [
    approval.kind === "question" && h("p", { class: "message" }, revealed(approval.question?.message ?? "")),
    approval.kind === "question" && pageView(approval.question),
    diffs.map((diff) => diffView(diff.diff, diff)),
    approval.tool !== "question" && argumentsView(approval.tool, approval.arguments, { diffs: approval.kind === "agentPermission" ? [] : diffs }),
  ];
}

const reversals = { yes: "Yes.", partly: "In part.", no: "No." };

function factsView({ tool, workingDirectory, kind, isolation, environment, reversible, reversibleReason }) {
  return h("dl", { class: "facts" },
    h("dt", {}, "Tool"), h("dd", {}, h("code", {}, revealedCall(tool))),
    h("dt", {}, "Working directory"), h("dd", {}, h("code", {}, revealedCall(workingDirectory || "–"))),
    isolation && [h("dt", {}, "Isolation"), h("dd", { class: "confinement" }, confinementText(isolation.name, kind, environment))],
    lookup(reversals, reversible) && [h("dt", {}, "Can be taken back"), h("dd", { data: { reversible } }, lookup(reversals, reversible),
      reversibleReason && [" ", revealed(reversibleReason)])],
    environment && [h("dt", {}, "Environment"), h("dd", {}, revealed(environment.name), ". ", riskText(environment.risk), environment.user && [" As ", revealed(environment.user), "."])]);
}

/** What names this approval for whoever looks into a log. */
function identityView({ id, toolCallId, argumentsHash, requestedAt, expiresAt }) {
  const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  return h("details", { class: "identity" }, h("summary", {}, "Hash and ids"),
    h("dl", { class: "facts" }, fact("Arguments' hash", h("code", {}, argumentsHash)), fact("Approval", h("code", {}, id)),
      fact("Call", h("code", {}, revealedCall(toolCallId))), fact("Asked", moment(requestedAt)), fact("Expires", expiresAt ? moment(expiresAt) : "never")));
}
