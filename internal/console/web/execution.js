// The page of one execution: how it stands, its conversation, and the raw events beside it, all made of one stream that begins at event 1. After a
// restart of the server the stream resumes behind the last event, so there is no gap and no double.

import { curlOf } from "./again.js";
import { Problem, executionPath, get, sleep } from "./api.js";
import { Asked } from "./asked.js";
import { Conversation } from "./conversation.js";
import { copyButton } from "./curl.js";
import { DiskPanel } from "./diskpanel.js";
import { attribute, fill, h, painter, say } from "./dom.js";
import { Line, Settings, origin } from "./facts.js";
import { Feed } from "./feed.js";
import { FollowUp } from "./followup.js";
import { estimateOf, viewOf } from "./items.js";
import { failure } from "./loading.js";
import { pathView } from "./path.js";
import { Plan } from "./plan.js";
import { Result } from "./result.js";
import { reveal, revealText } from "./reveal.js";
import { Sight } from "./sight.js";
import { Cancel, Interrupted, closeButton } from "./stop.js";
import { followExecution, isTerminal } from "./stream.js";
import { Taking } from "./taking.js";
import { Tree } from "./tree.js";
import { Windowed } from "./windowed.js";

/** A tab out of sight lets its stream go after so long: HTTP/1.1 has six connections per host, for all tabs together. */
const unseen = 30_000;
const queueEvery = 5000;

/** Draws the page of the execution `id`. */
export async function showExecution(page) {
  const { main, shell, signal, id } = page;
  main.classList.add("execution-page");
  fill(main, h("h1", {}, "Execution"), h("p", { class: "muted", role: "status" }, "Loading…"));
  try {
    const execution = await get(executionPath(id), {}, { signal });
    new Page(page, execution).begin();
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    shell.title("Execution");
    fill(main, h("h1", {}, "Execution"), problem.status === 404 ? h("p", { class: "notice error" },
      "There is no such execution, or it was deleted.") : failure(problem, () => showExecution(page)));
  }
}

class Page {
  constructor(page, execution) {
    Object.assign(this, { page, execution, signal: page.signal, id: page.id, changed: new Set(), line: undefined, synced: false, hasEnded: false,
      below: false });
    this.conversation = new Conversation(execution);
    this.asked = new Asked({ shell: page.shell, execution }, this.signal);
    this.sight = new Sight(this.signal, () => this.anchors(), () => this.drawBelow());
    this.draw = painter(() => !this.signal.aborted && this.sight.steady(() => this.drawAll()));
    const delegates = () => !execution.parent && this.conversation.rows().some((row) => row.tool?.children?.length > 0);
    const disk = new Taking(this.id, { place: page.main, signal: this.signal, sight: this.sight, points: this.conversation.points, delegates });
    this.scene = { execution: this.id, sight: this.sight, asked: this.asked, disk, opened: new Map(), originOf: (call) => this.conversation.originOf(call),
      hasEnded: () => this.conversation.standing.ended !== undefined, parentOf: (row) => this.conversation.parentOf(row) };
    this.list = h("section", { class: "conversation", "aria-label": "Conversation" });
    this.rows = new Windowed(this.list, this.sight, { make: (row) => viewOf(row, this.scene), estimate: estimateOf });
    this.parts = {
      line: new Line(execution), settings: new Settings(execution), plan: new Plan(), result: new Result(this.sight), feed: new Feed(this.signal),
        followUp: new FollowUp(this.id), tree: new Tree(execution, (draw) => this.sight.steady(draw)),
      disk: new DiskPanel(execution, disk, (call) => this.conversation.toolOf(call)),
      interrupted: new Interrupted(this.id), cancel: new Cancel(this.id, (answer) => this.stopping(answer)),
    };
  }

  begin() {
    this.lay();
    this.drawAll();
    this.follow();
    document.addEventListener("visibilitychange", () => this.seen(), { signal: this.signal });
    this.seen();
    this.watchQueue();
    this.parts.tree.follow(this.signal);
  }

  // ——— what stands where ———

  lay() {
    const { line, settings, tree, disk, plan, result, feed, followUp, interrupted, cancel } = this.parts;
    const title = titleOf(this.execution);
    this.page.shell.title(revealText(title.slice(0, 40)));
    this.state = h("p", { class: "notice warn", role: "status", hidden: true });
    this.trouble = h("div");
    this.close = this.execution.keepOpen ? closeButton(this.id, (answer) => this.closing(answer)) : null;
    this.newBelow = h("button", { type: "button", class: "new-below primary", hidden: true, on: { click: () => this.sight.toEnd() } }, "New below");
    const controls = h("div", { class: "controls row" }, h("button", { type: "button", "aria-pressed": "false",
      on: { click: (event) => this.toggleFeed(event.currentTarget) } }, "Raw events"),
      copyButton("Copy as curl", () => curlOf(this.execution)), h("a", { class: "button", href: `#/new?from=${encodeURIComponent(this.id)}` },
        "Start another"));
    fill(this.page.main, pathView(this.execution.parent?.path, this.id), h("h1", {}, reveal(title)), h("div", { class: "bar" }, line.element, cancel.element), origin(this.execution, this.signal), controls,
      settings.element, tree.element, disk.element, this.state, this.trouble,
      h("div", { class: "columns" }, h("div", { class: "talk" }, plan.element, h("h2", { class: "spoken" }, "Conversation"), this.list, this.newBelow,
        interrupted.element, result.element, this.close, followUp.element), feed.element));
  }

  toggleFeed(button) {
    const shown = button.getAttribute("aria-pressed") !== "true";
    attribute(button, "aria-pressed", String(shown));
    this.page.main.classList.toggle("with-feed", shown);
    this.sight.steady(() => this.parts.feed.show(shown));
    if (shown) this.lead(this.parts.feed.element);
  }

  /** On a phone the raw events are below the conversation: whoever asked for them is brought there. */
  lead(element) {
    if (element.getBoundingClientRect().top < window.innerHeight * 0.8) return;
    this.sight.pinned = false;
    element.scrollIntoView({ block: "start", behavior: "instant" });
  }

  /** What a person may be looking at: rows, and within long ones the sheets of their text. */
  *anchors() {
    for (const element of this.rows.elements()) {
      if (element.getBoundingClientRect().bottom < 60) continue;
      yield* element.querySelectorAll(".sheet");
      yield element;
    }
  }

  drawAll() {
    const { execution, conversation: { standing } } = this;
    const { line, settings, disk, plan, result, followUp, interrupted } = this.parts;
    const changed = this.changed;
    this.changed = new Set();
    line.show(execution, standing);
    settings.show(execution, standing);
    disk.show();
    plan.show(standing.plan);
    interrupted.show(standing);
    this.rows.show(this.conversation.rows(), changed);
    followUp.show(standing.prompts, standing.ended !== undefined, standing.options);
    if (standing.ended !== undefined && this.shown !== (execution.output ?? standing.ended)) this.drawEnd(result, standing.ended);
    this.below ||= changed.size > 0 && this.synced && !this.sight.pinned && !this.sight.isAtEnd;
    this.drawBelow();
  }

  drawEnd(result, ended) {
    this.shown = this.execution.output ?? ended;
    result.show(ended, this.execution.output, this.conversation.rows().findLast((row) => row.message?.role === "assistant")?.message.text);
    this.parts.cancel.end();
    this.close?.remove();
    this.state.hidden = true;
  }

  drawBelow() {
    if (this.sight.pinned) this.below = false;
    if (this.newBelow !== undefined) this.newBelow.hidden = !this.below;
  }

  // ——— the stream ———

  follow() {
    this.line = new AbortController();
    followExecution(this.id, this.conversation.lastSeq, {
      onEvents: (events) => this.take(events),
      onSynced: () => this.sync(),
      onState: (state) => this.connection(state),
    }, AbortSignal.any([this.signal, this.line.signal]));
  }

  take(events) {
    try {
      for (const event of events) this.add(event);
    } catch (error) {
      this.line.abort();
      return this.connection({ name: "failed", problem: error });
    }
    this.parts.feed.add(events);
    this.draw();
    if (isTerminal(events.at(-1))) this.end();
  }

  add(event) {
    for (const id of this.conversation.add(event)) this.changed.add(id);
    if (event.type === "approval.requested" || event.type === "approval.resolved") this.asked.refresh(event.data.approvalId);
    if (isTerminal(event)) for (const row of this.conversation.rows()) if (row.tool?.children) this.changed.add(row.id); // they have ended with it
  }

  /** History is over. Who has just come to an execution that lives is brought to where it is. */
  sync() {
    if (this.synced) return;
    this.synced = true;
    this.asked.live = true;
    for (const row of this.conversation.rows()) if (row.tool?.status === "pendingApproval") this.changed.add(row.id);
    if (window.scrollY < 8) this.sight.pinned = true;
    this.draw();
  }

  async end() {
    this.hasEnded = true;
    try {
      this.execution = await get(executionPath(this.id), {}, { signal: this.signal });
      this.draw();
    } catch {
      // the terminal event has told all but the end of a long text
    }
  }

  connection(state) {
    this.page.shell.connection("execution", state);
    if (state.name !== "failed") return;
    fill(this.trouble, failure(state.problem, () => location.reload()));
  }

  seen() {
    clearTimeout(this.leaving);
    if (document.visibilityState === "hidden") this.leaving = setTimeout(() => this.line.abort(), unseen);
    else if (this.line.signal.aborted && !this.hasEnded && !this.trouble.hasChildNodes()) this.follow();
  }

  /** The place in the queue is in no event. */
  async watchQueue() {
    while (this.conversation.standing.status === "queued" && !this.hasEnded) {
      try {
        await sleep(queueEvery, this.signal);
        if (this.conversation.standing.status !== "queued" || document.visibilityState === "hidden") continue;
        this.execution = await get(executionPath(this.id), {}, { signal: this.signal });
        this.draw();
      } catch {
        if (this.signal.aborted) return;
      }
    }
  }

  // ——— what was asked of it ———

  stopping({ status }) {
    if (status !== "cancelled") this.tell("It is stopping. What it had begun comes to its end first.");
  }

  closing({ status }) {
    if (status !== "completed") this.tell("It accepts no more prompts, and ends after its turn and the queued prompts.");
  }

  tell(text) {
    if (this.hasEnded) return;
    say(this.state, text);
    this.state.hidden = false;
  }
}

/** The beginning of what it was asked. */
function titleOf({ prompt, messages, id }) {
  const text = (prompt ?? messages?.at(-1)?.content ?? id).trim();
  const line = text.split("\n", 1)[0];
  return line.length > 120 || line.length < text.length ? `${[...line].slice(0, 117).join("")}…` : line;
}
