// Markdown drawn as elements, while it streams. Sanitised by how it is made: the tree of passages.js knows no HTML and no pictures, and all of its
// text becomes text nodes. What is finished is never drawn again, only what may still change is, so nothing jumps under the reader.
// A long text is drawn in sheets, of which those that are far from what is seen are empty.

import { h } from "./dom.js";
import { Passages, passages } from "./passages.js";
import { reveal } from "./reveal.js";
import { spans, target, textOf } from "./spans.js";

const sheetLength = 12_000; // characters
const perLine = 90;
const lineHeight = 24;

/** A text in an element: `new Markdown(element)`, `append` what comes, `end` it. */
export class Markdown {
  #element;
  #sight;
  #passages = new Passages();
  #sheets = [];
  #open = h("div", { class: "sheet" });
  #shown; // what stands in #open
  #code; // the element of it, where it is code, which grows in place

  /** @param sight what is seen of the page, see sight.js; without it all is drawn */
  constructor(element, sight) {
    this.#element = element;
    this.#sight = sight;
    element.classList.add("markdown");
    element.append(this.#open);
  }

  append(text) {
    this.#keep(this.#passages.push(text));
    this.#drawOpen(this.#passages.open());
  }

  end() {
    this.#keep(this.#passages.end());
    this.#drawOpen([]);
  }

  /** The element is thrown away. */
  leave() {
    for (const sheet of this.#sheets) sheet.unwatch?.();
  }

  #keep(finished) {
    for (const passage of finished) {
      if (this.#sheets.length === 0 || this.#sheets.at(-1).isFull) this.#addSheet();
      this.#sheets.at(-1).add(passage);
    }
    for (const sheet of this.#sheets.slice(-1)) sheet.draw();
  }

  #addSheet() {
    this.#sheets.at(-1)?.close();
    const sheet = new Sheet(this.#sight);
    this.#sheets.push(sheet);
    this.#open.before(sheet.element);
  }

  #drawOpen(open) {
    const [only] = open;
    if (open.length === 1 && only.type === "code" && this.#code !== undefined && only.text.startsWith(this.#shown[0].text)) {
      this.#code.append(reveal(only.text.slice(this.#shown[0].text.length)));
    } else {
      this.#open.replaceChildren(...open.map(draw));
      this.#code = open.length === 1 && only.type === "code" && only.text !== "" ? this.#open.querySelector("code") : undefined;
    }
    this.#shown = open;
  }
}

/** Some passages of a long text that come and go together. */
class Sheet {
  element = h("div", { class: "sheet" });
  unwatch;
  #sight;
  #passages = [];
  #drawn = 0;
  #length = 0;

  constructor(sight) {
    this.#sight = sight;
  }

  get isFull() {
    return this.#length > sheetLength;
  }

  add(passage) {
    this.#passages.push(passage);
    this.#length += lengthOf(passage);
  }

  draw() {
    for (; this.#drawn < this.#passages.length; this.#drawn++) this.element.append(draw(this.#passages[this.#drawn]));
  }

  /** Nothing is added any more: from now on it is drawn only while it is near. */
  close() {
    if (this.#sight === undefined) return this.draw();
    if (this.#drawn === 0) this.#stand((this.#length / perLine) * lineHeight);
    else this.draw();
    this.unwatch = this.#sight.watch(this.element, { near: () => this.#near(), far: () => this.#far() });
  }

  #near() {
    this.element.style.blockSize = "";
    this.draw();
  }

  #far() {
    this.#stand(this.element.getBoundingClientRect().height);
    this.#drawn = 0;
    this.element.replaceChildren();
  }

  #stand(height) {
    this.element.style.blockSize = `${height}px`;
  }
}

function lengthOf(passage) {
  return passage.text?.length ?? JSON.stringify(passage).length;
}

/** Draws a text that is whole, and short enough to be drawn at once. */
export function markdown(text) {
  return h("div", { class: "markdown" }, passages(text).map(draw));
}

function draw(passage) {
  return drawers[passage.type](passage);
}

const drawers = {
  paragraph: ({ text, open }) => h("p", {}, spans(text, open).map(drawSpan)),
  plain: ({ text }) => h("p", {}, reveal(text)),
  // No h2: a model's headings would tear up the outline of the page.
  heading: ({ level, text }) => h("p", { class: `heading level-${level}` }, spans(text).map(drawSpan)),
  code: ({ language, text, continued }) =>
    h("pre", { class: `code${continued ? " continued" : ""}`, "data-language": continued || language === "" ? null : language.slice(0, 40) }, h("code", {}, reveal(text))),
  rule: () => h("hr"),
  quote: ({ passages: inner }) => h("blockquote", {}, inner.map(draw)),
  list: ({ start, items }) => h(start === undefined ? "ul" : "ol", { start: start === undefined || start === 1 ? null : start }, items.map(drawItem)),
  table: ({ head, align, rows }) =>
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
      h("table", {},
        head === undefined ? null : h("thead", {}, h("tr", {}, head.map((cell, at) => h("th", { class: align[at], scope: "col" }, spans(cell).map(drawSpan))))),
        h("tbody", {}, rows.map((row) => h("tr", {}, align.map((where, at) => h("td", { class: where }, spans(row[at] ?? "").map(drawSpan)))))))),
};

function drawItem({ passages: inner, done }) {
  const [first, ...rest] = inner;
  const words = first?.type === "paragraph" ? [spans(first.text).map(drawSpan), rest.map(draw)] : inner.map(draw);
  if (done === undefined) return h("li", {}, words);
  return h("li", { class: "task" }, h("span", { role: "img", "aria-label": done ? "done" : "to do" }, done ? "☑" : "☐"), " ", words);
}

function drawSpan(span) {
  return spanDrawers[span.type](span);
}

const spanDrawers = {
  text: ({ text }) => reveal(text),
  code: ({ text }) => h("code", {}, reveal(text)),
  strong: ({ children }) => h("strong", {}, children.map(drawSpan)),
  em: ({ children }) => h("em", {}, children.map(drawSpan)),
  strike: ({ children }) => h("del", {}, children.map(drawSpan)),
  link: drawLink,
  // No picture is fetched: whoever asks for one tells its server who reads this, and what the address holds.
  image: ({ address, text }) => h("span", {}, "Picture: ", reveal(text), " ", drawLink({ address, children: [{ type: "text", text: address }] })),
};

function drawLink({ address, children }) {
  const text = textOf(children);
  const to = target(address, text);
  if (to === undefined) return h("span", {}, children.map(drawSpan), text === address || address === "" ? null : [" (", reveal(address), ")"]);
  const link = h("a", { href: to.href, rel: "noopener noreferrer", target: "_blank" }, children.length === 0 ? to.host : children.map(drawSpan));
  return to.said || children.length === 0 ? link : h("span", {}, link, h("span", { class: "muted" }, ` (${to.host})`));
}
