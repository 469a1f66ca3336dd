// Where a person answers: the buttons and forms of one approval. One tap is one decision: while it is under way nothing else can be pressed, and what
// is shown in the end is what the server said. After an error everything is as it was, and the error stands there.

import { approvalPath, get, post } from "./api.js";
import { attribute, fill, h, say, uniqueId } from "./dom.js";
import { argumentsForm } from "./edit.js";
import { field, showErrors } from "./field.js";
import { allSeen } from "./fold.js";
import { lookup } from "./lookup.js";
import { optionsOf, verbOf } from "./options.js";
import { outcomeView } from "./outcome.js";
import { questionForm } from "./question.js";
import { rememberChoice } from "./remember.js";
import { revealText } from "./reveal.js";
import { revealedCall } from "./suspect.js";

const mostReason = 2000;

export class DecisionForm {
  /**
   * @param {object} approval a pending one. Its hash is taken here, from what is drawn, and never read again at the moment of the click
   * @param {{shown: HTMLElement, take(approval: object): void, editing: Promise<string>}} card
   *   shown is what has to be looked at before one approves; take brings the card up to date, and tells whoever shows it; editing is
   *   why the arguments cannot be edited, or ""
   */
  constructor(approval, card) {
    Object.assign(this, { approval, card, hash: approval.argumentsHash, busy: false, fields: new Map(), buttons: {} });
    this.place = h("div", { class: "stack" });
    this.result = h("div", { role: "status" });
    this.state = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "error", role: "alert" });
    const said = h("div", { class: "said" }, this.state, this.problem); // has room for a line before there is one
    this.element = h("div", { class: "decision stack", on: { keydown: (event) => this.escape(event) } }, this.place, this.result, said);
    card.shown.addEventListener("unfold", () => this.look());
    this.choose();
  }

  /** Asks anew, since what would run has become something else. */
  renew(approval) {
    Object.assign(this, { approval, hash: approval.argumentsHash });
    this.choose();
  }

  /** Says what became of it, in no less room: what stands below must not move under a finger. */
  settle(approval) {
    this.element.style.minHeight = `${this.element.offsetHeight}px`;
    Object.assign(this, { approval, close: undefined, buttons: {}, fields: new Map() });
    fill(this.place);
    fill(this.result, outcomeView(approval));
  }

  // ——— what there is to press ———

  choose() {
    const kinds = { toolCall: this.call, agentPermission: this.permission, question: this.question, unknownOutcome: this.outcome, unshown: this.denial };
    const draw = lookup(kinds, this.approval.kind) ?? this.unknown;
    Object.assign(this, { close: undefined, buttons: {}, fields: new Map() });
    fill(this.place, draw.call(this));
    this.look();
  }

  call() {
    const remember = rememberChoice(this.approval, "approve");
    const approve = this.button("Approve", "primary", () => this.send({ decision: "approve", argumentsHash: this.hash, ...kept(remember.value()) }));
    approve.dataset.verb = "approve";
    const deny = this.button("Deny", "danger", () => this.askReason());
    const edit = this.button("Edit", "", () => this.edit());
    this.buttons = { approve, deny, edit };
    this.off(edit, "Who asked is not known yet.");
    this.card.editing.then((reason) => this.off(edit, reason));
    return [remember.element, h("div", { class: "actions" }, approve, deny, edit)];
  }

  permission() {
    const { options, optionsNote } = this.approval;
    const remember = rememberChoice(this.approval, "either");
    const rows = optionsOf(options).map((option) => ({ ...option, ...this.option(option, () => this.take(option, remember.value())) }));
    const deny = first(rows, "reject_once") ?? first(rows, "reject_always");
    const bare = deny === undefined && this.button("Deny", "danger", () => this.askReason());
    const once = rows.filter(({ kind }) => kind === "allow_once");
    this.buttons = { approve: once.length === 1 ? once[0].button : undefined, deny: deny ?? bare };
    return [
      optionsNote && h("p", { class: "notice warn" }, optionsNote), remember.element,
      h("div", { class: "options" }, rows.map((row) => row.element),
        bare && answer(bare, "The agent offers no way to deny; it learns that nobody answers.")),
    ];
  }

  /** A button that says what the agent wrote, and beside it what Signoff makes of that. */
  option(option, press) {
    const verb = verbOf(option.kind);
    const look = option.kind === "allow_once" ? "primary" : verb === "deny" ? "danger" : "";
    const button = this.button(revealedCall(option.name), look, press);
    button.dataset.verb = verb;
    return { element: answer(button, option.meaning), button };
  }

  question() {
    const form = questionForm(this.approval.question);
    this.fields = form.fields;
    const send = () => {
      const answer = form.value();
      if (answer === undefined) return void say(this.problem, "Something is not filled in as it should be.");
      this.send({ decision: "approve", argumentsHash: this.hash, answer });
    };
    this.buttons.approve = this.button("Send answer", "primary", send);
    this.buttons.deny = this.button("Decline", "danger", () => this.askReason());
    return [form.element, h("div", { class: "actions" }, this.buttons.approve, this.buttons.deny)];
  }

  outcome() {
    const reason = this.reason("What you found. The agent reads it, in your words. It may stay empty.");
    const row = (resolution, label, sentence) => {
      const press = () => this.send({ resolution, argumentsHash: this.hash, ...written(reason) });
      return answer(this.button(label, "", press), sentence);
    };
    return [
      h("p", {}, "First find out what happened: is the file there, did the job start? Then answer. This answer runs nothing."),
      reason.element,
      h("div", { class: "options" },
        row("succeeded", "It has succeeded", "It has done its work. The agent gets this answer with your words, and continues."),
        row("failed", "It has failed", "It has not done its work. The agent gets this answer with your words, and continues."),
        row("retry", "Ask to run it again", "It is safe to run again. Nothing runs yet: you are asked for a new approval.")),
    ];
  }

  unknown() {
    return [h("p", { class: "notice warn" }, "This console does not know this kind of question. It can only deny it."), this.denial()];
  }

  /** Of a card that cannot be shown, see plain.js. */
  denial() {
    this.buttons.deny = this.button("Deny", "danger", () => this.askReason());
    return h("div", { class: "actions" }, this.buttons.deny);
  }

  // ——— forms ———

  askReason() {
    const remember = rememberChoice(this.approval, "deny");
    const reason = this.reason(`${lookup(told, this.approval.kind) ?? "It is stored with the decision."} It may stay empty.`);
    this.form("Send denial", "danger", [reason.element, remember.element], () =>
      this.send({ decision: "deny", ...written(reason), ...kept(remember.value()) }));
    this.fields.set("/reason", reason);
  }

  edit() {
    const form = argumentsForm(this.approval.arguments);
    const remember = rememberChoice(this.approval, "approve", { exactOnly: true });
    this.form("Approve edited", "primary", [form.element, remember.element], () => {
      const args = form.value();
      if (args !== undefined) this.send({ decision: "approve", argumentsHash: this.hash, arguments: args, ...kept(remember.value()) });
    });
    this.fields = form.fields;
  }

  /** Opens a form in place of the buttons. Escape and Back close it, and the focus is where it was. */
  form(title, look, parts, submit) {
    const from = Object.entries(this.buttons).find(([, button]) => button === document.activeElement)?.[0];
    this.fields = new Map();
    this.close = () => {
      this.close = undefined;
      say(this.problem, "");
      this.choose();
      (this.buttons[from ?? "deny"] ?? this.place.querySelector("button")).focus();
    };
    const back = this.button("Back", "", () => this.close());
    const send = h("button", { class: look }, title);
    const pressed = (event) => {
      event.preventDefault();
      this.pressed(send, submit);
    };
    const form = h("form", { class: "stack", novalidate: true, on: { submit: pressed } }, parts, h("div", { class: "actions" }, send, back));
    fill(this.place, form);
    form.querySelector("textarea, input, select")?.focus();
  }

  escape(event) {
    if (event.key !== "Escape" || this.close === undefined || this.busy) return;
    event.stopPropagation();
    this.close();
  }

  reason(hint) {
    return field("Reason", h("textarea", { rows: 3, maxlength: mostReason }), hint);
  }

  button(label, look, press) {
    const button = h("button", { type: "button", class: look, on: { click: () => this.pressed(button, press) } }, label);
    return button;
  }

  // ——— pressing ———

  /** A button that is off keeps the focus, and says why it is off. */
  pressed(button, press) {
    if (this.busy) return;
    if (button.getAttribute("aria-disabled") === "true") return void say(this.state, button.title);
    press();
  }

  off(button, reason) {
    attribute(button, "aria-disabled", reason !== "" && "true");
    attribute(button, "title", reason !== "" && reason);
  }

  /** Approving is off as long as a part of what would run is folded. */
  look() {
    const reason = allSeen(this.card.shown) ? "" : "A part is folded. Show all of it before you approve.";
    const yes = this.place.querySelectorAll("button[data-verb]:not([data-verb=deny])");
    for (const button of yes) this.off(button, reason);
    if (!this.busy) say(this.state, yes.length > 0 ? reason : "");
  }

  /** Acts as if the button of that name had been pressed: approve, deny, edit. False: there is none now. */
  press(name) {
    const button = this.buttons[name];
    if (button === undefined || this.close !== undefined) return false;
    if (name === "approve" && this.approval.kind === "question") this.place.querySelector("input, textarea, select, button").focus();
    else button.click();
    return true;
  }

  /** Takes an option of an agent's. Where its kind says neither yes nor no, the person has to say which it is. */
  take(option, remember) {
    const send = (decision) =>
      this.send({ decision, optionId: option.optionId, ...(decision === "approve" ? { argumentsHash: this.hash } : {}), ...kept(remember) });
    const verb = verbOf(option.kind);
    if (verb !== "unclear") return void send(verb);
    const note = h("p", {}, "The agent gets “", revealedCall(option.name), "” either way. Its kind does not tell whether that is a yes, ",
      "so say how it stands in the record:");
    this.form("It is an approval", "primary", [note], () => send("approve"));
    this.place.querySelector(".actions").append(this.button("It is a denial", "danger", () => send("deny")));
    this.place.querySelector("button").focus();
  }

  // ——— sending ———

  async send(body) {
    this.work(true);
    try {
      const approval = await post(approvalPath(this.approval.id), body);
      this.card.take(approval);
    } catch (problem) {
      await this.refused(problem);
    } finally {
      this.work(false);
    }
  }

  work(busy) {
    this.busy = busy;
    attribute(this.element, "aria-busy", busy && "true");
    say(this.state, busy ? "Sending…" : "");
    if (busy) say(this.problem, "");
  }

  /** A refusal over the state of the approval brings the approval along, with whoever was faster. Where no answer came, one has to look. */
  async refused(problem) {
    let now = problem.body?.approval;
    if (now === undefined && problem.status === 0) now = await get(approvalPath(this.approval.id)).catch(() => undefined);
    const lost = problem.status === 0;
    if (now !== undefined) this.card.take(now);
    if (lost && now !== undefined && now.status !== "pending") return;
    const rest = showErrors(this.fields, problem.errors ?? []).map(({ message }) => message).filter((message) => message !== problem.message);
    say(this.problem, revealText([sentence(problem), ...rest].join(" ")));
    this.place.querySelector("[aria-invalid=true]")?.focus();
  }
}

/** What a denial does, besides being one. */
const told = { toolCall: "The agent reads it and continues.", question: "The agent learns that you declined." };

/** A button with a sentence beside it that says what it does. */
function answer(button, sentence) {
  const about = h("span", { class: "hint", id: uniqueId("answer") }, sentence);
  button.setAttribute("aria-describedby", about.id);
  return h("div", { class: "option" }, button, about);
}

function sentence(problem) {
  if (problem.status === 0) return `${problem.message} Whether the decision arrived is not known. It may be sent again: it counts once.`;
  if (problem.code === "argumentsHashDiffer") return `${problem.message} What is shown now is what waits.`;
  return problem.message;
}

function written({ control }) {
  return control.value.trim() === "" ? {} : { reason: control.value };
}

function kept(remember) {
  return remember === undefined ? {} : { remember };
}

/** The button of the first option of a kind. */
function first(rows, kind) {
  return rows.find((row) => row.kind === kind)?.button;
}
