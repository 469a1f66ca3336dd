// Which tools an execution has: all that there are, or these. A list without any is another thing than no list.

import { attribute, h, say, uniqueId } from "./dom.js";

/** A field as those of form.js; its value is null for all tools, or the list of names. */
export class ToolChoice {
  /** @param {string[]} names of GET /tools */
  constructor(spec, names) {
    this.spec = spec;
    this.error = h("p", { class: "error", id: uniqueId("error") });
    this.select = h("select", { id: uniqueId("tools"), "aria-describedby": this.error.id, on: { change: () => this.show() } },
      h("option", { value: "all" }, "All that there are (default)"), h("option", { value: "these" }, "Only these"));
    this.list = h("fieldset", { hidden: true, class: "choices" }, h("legend", {}, "Only these tools"));
    this.element = h("div", { class: "field field-tools" }, h("label", { for: this.select.id }, spec.label), this.select, this.list, this.error);
    this.element.addEventListener("input", () => this.complain([]));
    for (const name of names) this.offer(name);
  }

  offer(name) {
    const box = h("input", { type: "checkbox", id: uniqueId("tool"), data: { tool: name } });
    this.list.append(h("div", { class: "choice" }, box, h("label", { for: box.id }, name)));
  }

  get boxes() {
    return [...this.list.querySelectorAll("input")];
  }

  get value() {
    return this.select.value === "all" ? null : this.boxes.filter((box) => box.checked).map((box) => box.dataset.tool);
  }

  set value(names) {
    this.select.value = Array.isArray(names) ? "these" : "all";
    const known = new Set(this.boxes.map((box) => box.dataset.tool));
    for (const name of names ?? []) if (!known.has(name)) this.offer(name);
    for (const box of this.boxes) box.checked = names?.includes(box.dataset.tool) ?? false;
    this.show();
  }

  show() {
    attribute(this.list, "hidden", this.select.value === "all");
  }

  complain(messages) {
    say(this.error, messages.join(" "));
    attribute(this.select, "aria-invalid", messages.length > 0 ? "true" : null);
  }

  focus() {
    this.select.focus();
  }
}
