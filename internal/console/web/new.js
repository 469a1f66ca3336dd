// The page on which an execution is started. Only what a person sets is sent; beside the form stands the same request for a terminal. An
// earlier execution fills it by #/new?from=ID, the registry by #/new?model=NAME, #/new?agent=NAME and #/new?mcpServer=NAME, and by a prompt that it hands over.

import { Attachments } from "./attachments.js";
import { Problem, executionPath, get, post } from "./api.js";
import { belongs, bodyOf, defaultsOf, valuesOf } from "./body.js";
import { copyButton, curl } from "./curl.js";
import { attribute, fill, h, painter, say } from "./dom.js";
import { Draft } from "./draft.js";
import { capabilities, field, fields } from "./fields.js";
import { EnvironmentChoice } from "./environmentchoice.js";
import { Field, Fields } from "./form.js";
import { plural, shortId } from "./format.js";
import { busy, isBusy } from "./loading.js";
import { pieces, revealText, revealed } from "./reveal.js";
import { Source } from "./source.js";
import { taken } from "./template.js";
import { ToolChoice } from "./toolchoice.js";

/** Draws the form, filled with what the address names, or with the draft of this tab. */
export async function showNew(page) {
  const { main, signal, query } = page;
  const wait = h("p", { class: "muted", role: "status" }, "Loading…");
  main.append(h("h1", {}, "New execution"), wait);
  const known = await learn(query.get("from"), signal);
  if (signal.aborted) return;
  wait.remove();
  new NewExecution(page, known).draw();
}

/** Asks for all that the form can offer. What cannot be read is not offered, and the form says so: it works without. */
async function learn(from, signal) {
  const questions = {
    settings: get("/settings", {}, { signal }),
    models: get("/models", {}, { signal }).then((list) => list.items),
    agents: get("/agents", {}, { signal }).then((list) => list.items),
    tools: get("/tools", {}, { signal }).then((list) => list.items),
    environments: get("/environments", {}, { signal }).then((list) => list.items),
    earlier: from === null ? undefined : get(executionPath(from), {}, { signal }),
  };
  const names = Object.keys(questions);
  const answers = await Promise.allSettled(Object.values(questions));
  const known = { problems: new Map() };
  for (const [at, { value, reason }] of answers.entries()) {
    known[names[at]] = value;
    if (reason !== undefined) known.problems.set(names[at], reason);
  }
  return known;
}

class NewExecution {
  constructor(page, known) {
    this.page = page;
    this.known = known;
    this.draft = new Draft(page.query.get("from"));
    this.defaults = defaultsOf(known.settings);
    this.source = new Source(known);
    this.fields = new Fields(this.makeFields());
    this.command = h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "The same as a command" });
    this.left = h("p", { class: "hint" });
    this.startButton = h("button", { class: "primary" }, "Start");
    this.preview = painter(() => this.showCommand());
  }

  makeFields() {
    const made = [...this.source.fields, ...capabilities.map((spec) => this.capability(spec)), this.tools(), new Attachments(field("files")),
      new EnvironmentChoice(field("environment"), this.known.environments)];
    return fields.map((spec) => made.find((one) => one.spec === spec) ?? this.plain(spec));
  }

  plain(spec) {
    const placeholder = spec.kind === "number" ? this.defaults[spec.name] ?? spec.placeholder : spec.placeholder;
    const isLong = spec.kind === "text" && spec.rows !== undefined;
    return new Field(spec, { placeholder, note: isLong ? h("p", { class: "unseen-note hint", hidden: true }) : undefined });
  }

  capability(spec) {
    const standard = this.defaults[spec.name];
    const first = { value: "", text: standard === undefined ? "Default" : `Default: ${standard}` };
    return new Field(spec, { options: [first, ...verdictsOf(spec).map((text) => ({ value: text, text }))] });
  }

  tools() {
    return new ToolChoice(field("tools"), (this.known.tools ?? []).map((tool) => tool.name));
  }

  draw() {
    const on = { submit: (event) => this.submit(event), input: () => this.changed(), change: () => this.changed(), keydown: startOnEnter };
    this.notices = h("div", { class: "stack" });
    const form = h("form", { class: "new", novalidate: true, on }, this.drawFields(), this.drawCommand());
    this.page.main.append(this.notices, form);
    this.fields.named("files").takesFrom(form);
    this.fill();
  }

  drawFields() {
    const first = ["prompt", "files", "environment", "workingDirectory", "keepOpen"];
    const own = new Set([...this.source.fields, ...capabilities.map((spec) => this.fields.named(spec.name))]);
    const more = this.fields.all.filter((one) => !own.has(one) && !first.includes(one.spec.name));
    return h("div", { class: "stack" },
      this.fields.top,
      this.source.element,
      this.fields.named("prompt").element,
      this.fields.named("files").element,
      h("fieldset", {}, h("legend", {}, "What it may do"),
        h("div", { class: "columns narrow" }, capabilities.map((spec) => this.fields.named(spec.name).element))),
      first.slice(2).map((name) => this.fields.named(name).element),
      h("details", { class: "more" }, h("summary", {}, "More settings"), h("div", { class: "stack" }, withColumns(more))),
      h("div", { class: "row" }, this.startButton, h("span", { class: "hint" }, "or ", h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"))));
  }

  drawCommand() {
    return h("section", { class: "same card", "aria-labelledby": "same" },
      h("div", { class: "row spread" }, h("h2", { id: "same" }, "The same with curl"), copyButton("Copy as curl", () => this.command.textContent)),
      this.command,
      this.left,
      h("p", { class: "hint" }, "Address and token are your shell's: ", h("code", {}, "$SIGNOFF_URL"), ", ", h("code", {}, "$SIGNOFF_TOKEN"), "."));
  }

  /** Fills the form: with what the address names, and where it names nothing, or this draft came from it, with the draft. */
  fill() {
    const { query } = this.page;
    const kept = this.draft.values;
    const values = kept === undefined ? this.beginning() : { ...kept };
    if (query.has("model")) Object.assign(values, { type: "internal", model: query.get("model") });
    if (query.has("agent")) Object.assign(values, query.get("agent") === "internal" ? { type: "internal" } : { type: "acp", command: query.get("agent") });
    if (query.has("mcpServer")) values.mcpServers = query.get("mcpServer");
    const handed = taken();
    Object.assign(values, handed?.values);
    fill(this.notices, this.problems(), kept === undefined ? this.origin() : this.restored(),
      handed === undefined ? null : h("p", { class: "notice" }, "Filled in from ", revealed(handed.from), ". Read it before you start: the server wrote it."));
    this.show(values);
    if (handed !== undefined) this.changed();
  }

  beginning() {
    return this.known.earlier === undefined ? { type: "internal" } : valuesOf(this.known.earlier, this.known.settings);
  }

  show(values) {
    this.fields.values = { ...values, type: values.type ?? "internal" };
    const details = this.page.main.querySelector("details.more");
    details.open = this.fields.all.some((one) => details.contains(one.element) && ![undefined, null, "", false].includes(values[one.spec.name]));
    this.refresh();
  }

  problems() {
    return [...this.known.problems].map(([name, problem]) => {
      const what = { settings: "The defaults", earlier: "The earlier execution" }[name] ?? `The ${name}`;
      return h("p", { class: `notice ${name === "earlier" ? "error" : "warn"}` }, `${what} cannot be read: `, revealed(problem.message));
    });
  }

  origin() {
    const { earlier } = this.known;
    if (earlier === undefined) return null;
    const link = h("a", { href: `#${executionPath(earlier.id)}` }, shortId(earlier.id));
    const lost = earlier.kind === "agent" ? null : " The server has not kept what it knew of its document; give it among the further members.";
    return h("p", { class: "notice" }, "Filled in as execution ", link, " was.", lost);
  }

  restored() {
    const again = h("button", { type: "button", on: { click: () => this.startOver() } }, "Discard the draft");
    return h("div", { class: "notice row" }, h("p", {}, "This is the draft that you left."), again);
  }

  startOver() {
    this.draft.forget();
    this.fields.forgive();
    fill(this.notices, this.problems(), this.origin());
    this.show(this.beginning());
    this.fields.named("prompt").focus();
  }

  changed() {
    this.draft.change(this.fields.values);
    this.refresh();
  }

  refresh() {
    this.source.show();
    for (const one of this.fields.all) if (one.spec.only !== undefined) attribute(one.element, "hidden", !belongs(one.spec, this.source.type.value));
    this.preview();
  }

  showCommand() {
    const { body, errors } = bodyOf(this.fields.values);
    say(this.command, curl("POST", "/executions", body));
    say(this.left, errors.length === 0 ? "" : `Without what cannot be sent: ${errors.map(({ message }) => revealText(message)).join("; ")}.`);
    for (const one of this.fields.all) showUnseen(one);
  }

  async submit(event) {
    event.preventDefault();
    if (isBusy(this.startButton)) return;
    const { body, errors } = bodyOf(this.fields.values);
    const files = this.fields.named("files");
    const { obstacle } = files;
    if (errors.length > 0) return this.fields.complain(errors, "Some of this cannot be sent.");
    this.fields.forgive();
    if (obstacle !== "") return files.refuse(obstacle);
    this.busy(true);
    try {
      this.started(await post("/executions", body, { key: this.draft.keyFor(body) }));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.refused(problem);
    }
  }

  busy(yes) {
    busy(this.startButton, yes);
    say(this.startButton, yes ? "Starting…" : "Start");
  }

  started(execution) {
    this.draft.forget();
    if (this.page.signal.aborted) this.page.shell.toast("The execution has started.");
    else this.page.shell.go(`/executions/${execution.id}`);
  }

  refused(problem) {
    if (this.page.signal.aborted) return this.page.shell.toast(`The execution was not started: ${problem.message}`, "error");
    this.busy(false);
    const lost = problem.status === 0 ? " It may have started all the same; pressing Start again, with nothing changed, starts nothing twice." : "";
    this.fields.complain(problem.errors, problem.message + lost);
  }
}

/** Nothing that a request says lets commands run on the host unasked. */
function verdictsOf({ name }) {
  return name === "host" ? ["deny", "ask"] : ["deny", "ask", "allow"];
}

/** The numbers stand beside each other. */
function withColumns(all) {
  const isNumber = (one) => one.spec.kind === "number";
  const elements = all.filter((one) => !isNumber(one)).map((one) => one.element);
  elements.splice(all.findIndex(isNumber), 0, h("div", { class: "columns" }, all.filter(isNumber).map((one) => one.element)));
  return elements;
}

function startOnEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

/** A prompt that comes from somebody else may say more than it shows. */
function showUnseen(one) {
  const note = one.element.querySelector(".unseen-note");
  if (note === null) return;
  const count = pieces(one.value).filter((piece) => piece.title !== undefined).length;
  attribute(note, "hidden", count === 0);
  say(note, count === 0 ? "" : `In ${plural(count, "place")} it has characters that do not show, or long gaps.`);
}
