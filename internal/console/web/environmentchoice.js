// Which environment an execution gets: one of those that the server has, perhaps read-only. What this machine cannot build cannot be chosen, and says why.

import { attribute, fill, h, say, uniqueId } from "./dom.js";
import { choiceOf, environmentChip, riskText, shows } from "./environment.js";
import { revealText, revealed } from "./reveal.js";

/** A field as those of form.js; its value is null for the default, a name, or an object that narrows the environment. */
export class EnvironmentChoice {
  #rest = {}; // of what an earlier execution had narrowed

  /** @param {object[]} [environments] of GET /environments; without them the name is typed */
  constructor(spec, environments) {
    this.spec = spec;
    this.environments = environments ?? [];
    this.error = h("p", { class: "error", id: uniqueId("error") });
    const properties = { id: uniqueId("environment"), name: "environment", "aria-describedby": this.error.id, on: { change: () => this.show() } };
    this.control = environments === undefined
      ? h("input", { ...properties, type: "text", autocomplete: "off", spellcheck: "false", placeholder: "the default" })
      : h("select", properties, this.options());
    this.readOnly = h("input", { type: "checkbox", id: uniqueId("readonly"), name: "readOnly", on: { change: () => this.show() } });
    this.note = h("div", { class: "chosen" });
    this.element = h("div", { class: "field field-environment" }, h("label", { for: this.control.id }, spec.label), this.control,
      h("div", { class: "choice" }, this.readOnly, h("label", { for: this.readOnly.id }, "Read-only: nothing can be written, the workspace included")),
      this.note, this.unavailable(), this.error);
    this.element.addEventListener("input", () => this.complain([]));
  }

  options() {
    const standard = this.environments.find((one) => one.default);
    const first = h("option", { value: "" }, standard === undefined ? "Default" : `Default: ${revealText(standard.name)}`);
    return [first, ...this.environments.map(({ name, available }) =>
      h("option", { value: name, disabled: !available }, `${revealText(name)}${available ? "" : " – not available"}`))];
  }

  unavailable() {
    return this.environments.filter((one) => !one.available).map(({ name, reason }) =>
      h("p", { class: "hint reason" }, h("strong", {}, revealed(name)), " is not available: ", revealed(reason ?? "")));
  }

  chosen() {
    return this.environments.find((one) => (this.control.value === "" ? one.default : one.name === this.control.value));
  }

  get value() {
    const name = this.control.value || (this.readOnly.checked ? this.chosen()?.name : undefined);
    return name === undefined ? null : choiceOf({ ...this.#rest, name, readOnly: this.readOnly.checked && !this.readOnly.disabled });
  }

  set value(value) {
    const { name = "", readOnly = false, ...rest } = typeof value === "string" ? { name: value } : value ?? {};
    this.#rest = rest;
    if (this.control.tagName === "SELECT" && ![...this.control.options].some((option) => option.value === name)) {
      this.control.append(h("option", { value: name }, `${revealText(name)} (not in the list)`));
    }
    this.control.value = name;
    this.readOnly.checked = readOnly;
    this.kept = name;
    this.show();
  }

  /** Says what the chosen one shows. The host cannot be narrowed. */
  show() {
    if (this.control.value !== this.kept) this.#rest = {}; // mounts and hosts were those of another one
    this.kept = this.control.value;
    const chosen = this.chosen();
    attribute(this.readOnly, "disabled", chosen?.risk === "host");
    fill(this.note, chosen === undefined ? null : [
      h("p", {}, environmentChip(chosen)),
      h("p", { class: "hint" }, revealed([riskText(chosen.risk), ...shows(chosen)].join(" "))),
      Object.entries(this.#rest).map(([name, only]) => h("p", { class: "hint" }, `Only these ${name}: `, revealed(only.join(", ")))),
    ]);
  }

  complain(messages) {
    say(this.error, messages.join(" "));
    attribute(this.control, "aria-invalid", messages.length > 0 ? "true" : null);
  }

  focus() {
    this.control.focus();
  }
}
