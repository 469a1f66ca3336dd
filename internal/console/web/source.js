// The part of a new execution that says who answers: our own agent with a model, or an external agent. What is chosen is described
// below its list, and where it cannot be used the reason stands there.

import { get } from "./api.js";
import { availability } from "./availability.js";
import { belongs } from "./body.js";
import { Choice } from "./choice.js";
import { attribute, fill, h, uniqueId } from "./dom.js";
import { field } from "./fields.js";
import { Field } from "./form.js";
import { amount } from "./format.js";
import { ofCategory, offerLine } from "./offers.js";
import { revealText, revealed } from "./reveal.js";

const types = [{ value: "internal", text: "The internal agent, with a model" }, { value: "acp", text: "An external agent" }];

/** The fields of the source; `known` has the lists of the registry, undefined where they could not be read. */
export class Source {
  constructor(known) {
    this.models = known.models;
    this.agents = known.agents?.filter((agent) => agent.type === "acp");
    this.note = h("div", { class: "chosen" });
    this.type = new Choice(field("type"), types);
    this.model = new Field(field("model"), { options: this.modelOptions(known.settings) });
    this.command = new Field(field("command"), { options: this.agentOptions() });
    this.agentModel = new Field(field("agentModel"), { placeholder: "the agent's own" });
    this.mode = new Field(field("mode"));
    this.options = new Field(field("options"));
    this.offers = h("div", { class: "offers", role: "status" });
    this.suggestions = { model: suggestions(this.agentModel.control), mode: suggestions(this.mode.control) };
    this.fields = [this.type, this.model, this.command, this.agentModel, this.mode, this.options];
    this.element = h("fieldset", { class: "source stack" },
      h("legend", {}, "Source"),
      this.type.element,
      h("div", { class: "columns" }, this.model.element, this.command.element),
      this.note,
      h("div", { class: "columns" }, this.agentModel.element, this.mode.element),
      this.options.element, this.offers, Object.values(this.suggestions));
  }

  modelOptions(settings) {
    if (this.models === undefined) return undefined;
    const first = { value: "", text: settings?.defaultModel ? `Default: ${revealText(settings.defaultModel)}` : "Default" };
    return [first, ...this.models.map((model) => named(model))];
  }

  agentOptions() {
    return this.agents && [{ value: "", text: "Choose an agent" }, ...this.agents.map((agent) => named(agent))];
  }

  /** Brings up to date what is shown of a choice. */
  show() {
    for (const one of this.fields) attribute(one.element, "hidden", !belongs(one.spec, this.type.value));
    const chosen = this.type.value === "acp" ? this.agent() : this.chosenModel();
    attribute(this.mode.control, "placeholder", chosen?.mode ?? "the agent's own");
    const key = chosen === undefined ? "" : `${this.type.value} ${chosen.name}`;
    if (this.note.dataset.key === key) return;
    this.note.dataset.key = key;
    fill(this.note, chosen === undefined ? null : [this.type.value === "acp" ? aboutAgent(chosen) : aboutModel(chosen), availability(chosen)]);
    this.learn(this.type.value === "acp" && chosen?.available ? chosen : undefined);
  }

  /** Shows what an agent offers. The server may have to start it for that, so the answer can take a while. */
  async learn(agent) {
    this.offer([]);
    fill(this.offers, agent && h("p", { class: "hint" }, "Asking the agent what can be chosen…"));
    if (agent === undefined) return;
    const is = () => this.type.value === "acp" && this.agent()?.name === agent.name;
    try {
      const details = await get(`/agents/${encodeURIComponent(agent.name)}`);
      if (!is()) return;
      this.offer(details.offers?.options ?? []);
      fill(this.offers, aboutOffers(details));
    } catch (problem) {
      if (is()) fill(this.offers, h("p", { class: "hint" }, "What can be chosen with it cannot be read: ", revealed(problem.message)));
    }
  }

  offer(options) {
    for (const [category, list] of Object.entries(this.suggestions)) {
      fill(list, (ofCategory(options, category)?.choices ?? []).map(({ value, name }) => h("option", { value, label: name && revealText(name) })));
    }
  }

  agent() {
    return this.agents?.find((agent) => agent.name === this.command.value);
  }

  chosenModel() {
    return this.models?.find((model) => (this.model.value === "" ? model.default : model.name === this.model.value));
  }
}

/** A list that an input suggests from. */
function suggestions(control) {
  const list = h("datalist", { id: uniqueId("offered") });
  attribute(control, "list", list.id);
  return list;
}

function aboutOffers({ offers, probing, probeFailure }) {
  const why = probeFailure && h("p", { class: "hint" }, "It was asked what can be chosen, and failed: ", revealed(probeFailure.message));
  if (offers === undefined) return why ?? h("p", { class: "hint" }, probing ? "The agent takes long to say what can be chosen." : "What can be chosen with it is not known.");
  if (offers.options.length === 0) return h("p", { class: "hint" }, "It lets nothing be chosen.");
  return [h("p", { class: "hint" }, "It lets these be chosen:"), h("dl", { class: "hint" }, offers.options.map(offerLine).map(({ label, text }) =>
    [h("dt", {}, label), h("dd", {}, text)])), why];
}

function named(entry) {
  return { value: entry.name, text: `${revealText(entry.name)}${entry.available ? "" : " – not available"}` };
}

function aboutAgent(agent) {
  const version = agent.version === null ? "version unknown" : ["version ", revealed(agent.version)];
  return h("p", { class: "hint" }, revealed(agent.description), " · ", version);
}

function aboutModel(model) {
  const name = model.model === "" ? model.provider : `${model.provider}, ${model.model}`;
  const window = model.contextWindow === null ? "context window unknown" : `context window of ${amount(model.contextWindow)} tokens`;
  return h("p", { class: "hint" }, revealed(name), ` · ${window}`);
}
