// What a command prints, while it prints: in a box of bounded height that stays at its end, unless the person scrolled in it. Of a long output only
// the end is drawn until somebody asks for all of it.

import { fill, h } from "./dom.js";
import { amount } from "./format.js";
import { reveal } from "./reveal.js";

const drawn = 32_000; // characters

/** An output that grows, or becomes another one. */
export class Printed {
  element;
  #text = "";
  #start = 0; // what is before it is folded
  #all = false;
  #pre = h("pre", { class: "output code scroll", tabindex: 0, role: "group", "aria-label": "Output" });
  #fold = h("p", { class: "folded small", hidden: true });

  constructor() {
    this.element = h("div", { class: "printed", hidden: true }, this.#fold, this.#pre);
  }

  show(text) {
    if (text === this.#text) return;
    const atEnd = this.#pre.scrollHeight - this.#pre.clientHeight - this.#pre.scrollTop < 8;
    const grown = text.length - this.#start < 2 * drawn && this.#text !== "" && text.startsWith(this.#text);
    if (grown) this.#pre.append(reveal(text.slice(this.#text.length)));
    this.#text = text;
    this.element.hidden = text === "";
    if (!grown) this.#drawAll();
    if (atEnd) this.#pre.scrollTop = this.#pre.scrollHeight;
  }

  #drawAll() {
    this.#start = this.#all || this.#text.length <= drawn ? 0 : this.#text.indexOf("\n", this.#text.length - drawn) + 1 || this.#text.length - drawn;
    fill(this.#pre, reveal(this.#text.slice(this.#start)));
    this.#fold.hidden = this.#start === 0;
    if (this.#start > 0) fill(this.#fold, `${amount(this.#start)} characters before this are folded. `, h("button", { type: "button", class: "small",
      on: { click: () => this.#unfold() } }, "Show all output"));
  }

  #unfold() {
    this.#all = true;
    this.#drawAll();
    this.#pre.focus();
  }
}
