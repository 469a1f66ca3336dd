// The raw events beside the conversation: one line each, of a fixed height, so that of fifty thousand only those that are seen are elements.
// What an event holds is read only when it is opened.

import { attribute, fill, h, keyed, painter, say } from "./dom.js";
import { amount } from "./format.js";
import { parseJSON, showJSON } from "./json.js";
import { reveal } from "./reveal.js";

const beyond = 8; // rows that are drawn above and below of what is seen
const dataLength = 160; // characters of the one line

/** The feed's element, and what it is told. */
export class Feed {
  element;
  #events = []; // {seq, type, time, line}
  #open; // the seq of the event that is shown whole
  #pinned = true;
  #draw = painter(() => this.#drawRows());
  #rows = h("div", { class: "feed-rows" });
  #box = h("div", { class: "feed-box", tabindex: 0, role: "group", "aria-label": "Events" }, this.#rows);
  #count = h("span", { class: "muted small" });
  #detail = h("div", { class: "feed-detail" });
  #newest = h("button", { type: "button", class: "small", hidden: true, on: { click: () => this.#toEnd() } }, "Newest");

  constructor(signal) {
    this.element = h("aside", { class: "feed card", "aria-label": "Raw events", hidden: true },
      h("div", { class: "row spread" }, h("h2", {}, "Raw events"), this.#count, this.#newest), this.#box, this.#detail);
    this.#box.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    this.#box.addEventListener("keydown", (event) => this.#key(event), { signal });
    window.addEventListener("resize", this.#draw, { signal });
  }

  /** Takes further events. Of each only its line is kept. */
  add(events) {
    for (const { seq, type, time, line } of events) this.#events.push({ seq, type, time, line });
    if (!this.element.hidden) this.#draw();
  }

  show(shown) {
    this.element.hidden = !shown;
    if (shown) this.#draw();
  }

  #drawRows() {
    if (this.element.hidden) return;
    const height = this.#rowHeight();
    say(this.#count, `${amount(this.#events.length)} events`);
    this.#rows.style.blockSize = `${this.#events.length * height}px`;
    if (this.#pinned) this.#box.scrollTop = this.#box.scrollHeight;
    const first = Math.max(0, Math.floor(this.#box.scrollTop / height) - beyond);
    const seen = this.#events.slice(first, first + Math.ceil(this.#box.clientHeight / height) + 2 * beyond);
    keyed(this.#rows, this.#withFocused(seen), (event) => event.seq, (event) => this.#row(event), (row, event) => this.#place(row, event, height));
    attribute(this.#newest, "hidden", this.#pinned);
  }

  /** The row that has the focus stays, wherever the box is scrolled to. */
  #withFocused(seen) {
    const focused = this.#events[Number(this.#rows.contains(document.activeElement) && document.activeElement.dataset.key) - 1];
    if (focused === undefined || seen.includes(focused)) return seen;
    return focused.seq < seen[0].seq ? [focused, ...seen] : [...seen, focused];
  }

  #rowHeight() {
    return parseFloat(getComputedStyle(this.#rows).getPropertyValue("--row")) || 28;
  }

  #row({ seq, type, time, line }) {
    return h("button", { type: "button", class: "feed-row mono", tabindex: -1, on: { click: () => this.#toggle(seq) } },
      h("span", { class: "seq" }, seq), h("span", { class: "time" }, clock(time)), h("span", { class: "type" }, reveal(String(type))), h("span",
        { class: "data muted" }, reveal(dataOf(line))));
  }

  #place(row, { seq }, height) {
    row.style.insetBlockStart = `${(seq - this.#events[0].seq) * height}px`;
    attribute(row, "aria-expanded", this.#open === seq);
    attribute(row, "tabindex", seq === (this.#open ?? this.#events.at(-1).seq) ? 0 : -1);
  }

  #toggle(seq) {
    this.#open = this.#open === seq ? undefined : seq;
    fill(this.#detail, this.#open === undefined ? null : this.#whole(this.#events[seq - this.#events[0].seq]));
    this.#draw();
  }

  #whole({ seq, line }) {
    return [
      h("div", { class: "row spread" }, h("h3", {}, `Event ${seq}`), h("button", { type: "button", class: "small",
        on: { click: () => this.#toggle(seq) } }, "Close event")),
      h("pre", { class: "code scroll", tabindex: 0, role: "group", "aria-label": `Event ${seq}` }, reveal(showJSON(parseJSON(line)))),
    ];
  }

  #scrolled() {
    this.#pinned = this.#box.scrollHeight - this.#box.clientHeight - this.#box.scrollTop < this.#rowHeight();
    this.#draw();
  }

  #toEnd() {
    this.#pinned = true;
    this.#draw();
    this.#box.focus();
  }

  /** Arrows go from event to event. */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = Number(document.activeElement.dataset.key);
    if (step === undefined || Number.isNaN(at)) return;
    event.preventDefault();
    this.#focus(at + step);
  }

  #focus(seq) {
    if (this.#events[seq - this.#events[0].seq] === undefined) return;
    const height = this.#rowHeight();
    const top = (seq - this.#events[0].seq) * height;
    if (top < this.#box.scrollTop) this.#box.scrollTop = top;
    else if (top + height > this.#box.scrollTop + this.#box.clientHeight) this.#box.scrollTop = top + height - this.#box.clientHeight;
    this.#pinned = false;
    this.#drawRows();
    this.#rows.querySelector(`[data-key="${seq}"]`)?.focus({ preventScroll: true });
  }
}

function clock(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toTimeString().slice(0, 8);
}

/** The beginning of an event's data, as it came. */
function dataOf(line) {
  const at = line.indexOf('"data":');
  return at < 0 ? "" : line.slice(at + 7, at + 7 + dataLength).replace(/\}$/, "");
}
