// One of a few, all of which are seen.

import { attribute, h, say, uniqueId } from "./dom.js";

/** A field as those of form.js, made of radio buttons. */
export class Choice {
  /** @param {Array<{value: string, text: string}>} options of which the first holds until another is chosen */
  constructor(spec, options) {
    this.spec = spec;
    this.error = h("p", { class: "error", id: uniqueId("error") });
    this.buttons = options.map(({ value }) => h("input", { type: "radio", name: spec.name, id: uniqueId(spec.name), value }));
    const labelled = options.map(({ text }, at) => h("div", { class: "choice" }, this.buttons[at], h("label", { for: this.buttons[at].id }, text)));
    this.group = h("div", { class: "radios", role: "radiogroup", "aria-label": spec.label, "aria-describedby": this.error.id }, labelled);
    this.element = h("div", { class: `field field-${spec.name}` }, this.group, this.error);
    this.element.addEventListener("input", () => this.complain([]));
  }

  get value() {
    return this.buttons.find((button) => button.checked)?.value ?? "";
  }

  set value(value) {
    for (const [at, button] of this.buttons.entries()) button.checked = value === undefined ? at === 0 : button.value === value;
  }

  complain(messages) {
    say(this.error, messages.join(" "));
    attribute(this.group, "aria-invalid", messages.length > 0 ? "true" : null);
  }

  focus() {
    (this.buttons.find((button) => button.checked) ?? this.buttons[0]).focus();
  }
}
