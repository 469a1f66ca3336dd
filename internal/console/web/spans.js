// The inside of a Markdown paragraph, as a tree: emphasis, code, links. Pure. What it reads is hostile, so nothing in here becomes markup,
// an address is only followed where it is plainly one of the web or of mail, and no text takes more than a moment.

/** Nesting beyond this stays as it was written: a thousand asterisks must not make a thousand elements within each other. */
const mostNested = 12;

/**
 * Reads text: [{type: "text" | "code", text} | {type: "strong" | "em" | "strike", children} | {type: "link", address, children} |
 * {type: "image", address, text}]. With `open` the text is still growing, and what is begun at its end counts as closed, so that a word
 * in bold does not show its asterisks first and jump when they go.
 */
export function spans(text, open = false) {
  const reader = new Reader(text);
  const nodes = reader.read();
  const missing = open ? reader.missing : "";
  return missing === "" ? nodes : new Reader(text.trimEnd() + missing).read();
}

const bareAddress = /https?:\/\/[^\s<>"`|\\]+/y;
const angleAddress = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const destination = /\(\s*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;
const entity = /&(?:(amp|lt|gt|quot|apos)|#(39|34|38|60|62));/y;
const entities = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", 39: "'", 34: '"', 38: "&", 60: "<", 62: ">" };
const special = /[\\`*_~[\]!<&h]/g;

class Reader {
  missing = ""; // what would close all that is open at the end
  #text;
  #at = 0;
  #nodes = [];
  #brackets = []; // that are open: {index of its node, image, active}
  #ticks; // by the length of a run of backticks, where such runs begin

  constructor(text) {
    this.#text = text;
  }

  read() {
    while (this.#at < this.#text.length) this.#step();
    return this.#emphasised(this.#nodes);
  }

  #step() {
    special.lastIndex = this.#at;
    const next = special.exec(this.#text)?.index ?? this.#text.length;
    if (next > this.#at) return this.#plain(next - this.#at);
    const take = this.#steps[this.#text[this.#at]];
    if (!take.call(this)) this.#plain(1);
  }

  #steps = {
    "\\": this.#escape, "`": this.#code, "*": this.#run, _: this.#run, "~": this.#run, "[": this.#opening, "]": this.#closing, "!": this.#image,
    "<": this.#angle, "&": this.#entity, h: this.#bare,
  };

  #plain(length) {
    this.#add(this.#text.slice(this.#at, this.#at + length), length);
  }

  #add(text, length) {
    const last = this.#nodes.at(-1);
    if (last?.type === "text") last.text += text;
    else this.#nodes.push({ type: "text", text });
    this.#at += length;
    return true;
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  #escape() {
    const next = this.#text[this.#at + 1];
    return next !== undefined && /[!-/:-@[-`{-~]/.test(next) && this.#add(next, 2);
  }

  #entity() {
    const found = this.#match(entity);
    return found !== null && this.#add(entities[found[1] ?? found[2]], found[0].length);
  }

  #code() {
    const length = runLength(this.#text, this.#at);
    const start = this.#at + length;
    const end = this.#ticksOf(length).find((at) => at >= start);
    if (end === undefined) {
      this.missing ||= "`".repeat(length);
      return this.#add(this.#text.slice(this.#at, start), length);
    }
    const text = this.#text.slice(start, end).replaceAll("\n", " ");
    this.#nodes.push({ type: "code", text: /^ .*[^ ].* $/.test(text) ? text.slice(1, -1) : text });
    this.#at = end + length;
    return true;
  }

  #ticksOf(length) {
    if (this.#ticks === undefined) {
      this.#ticks = new Map();
      for (const { 0: run, index } of this.#text.matchAll(/`+/g)) {
        if (!this.#ticks.has(run.length)) this.#ticks.set(run.length, []);
        this.#ticks.get(run.length).push(index);
      }
    }
    const known = this.#ticks.get(length) ?? [];
    while (known.length > 0 && known[0] <= this.#at) known.shift();
    return known;
  }

  /** A run of asterisks, underlines or tildes: whether it may open or close depends on what is beside it. */
  #run() {
    const mark = this.#text[this.#at];
    const count = runLength(this.#text, this.#at);
    const before = this.#text[this.#at - 1] ?? " ";
    const after = this.#text[this.#at + count] ?? " ";
    const left = !isBlank(after) && (!isPunctuation(after) || isBlank(before) || isPunctuation(before));
    const right = !isBlank(before) && (!isPunctuation(before) || isBlank(after) || isPunctuation(after));
    const opens = left && (mark !== "_" || !right || isPunctuation(before));
    const closes = right && (mark !== "_" || !left || isPunctuation(after));
    if ((!opens && !closes) || (mark === "~" && count !== 2)) return this.#add(mark.repeat(count), count);
    this.#nodes.push({ type: "run", mark, count, opens, closes });
    this.#at += count;
    return true;
  }

  #opening() {
    return this.#bracket(1, false);
  }

  #image() {
    return this.#text[this.#at + 1] === "[" && this.#bracket(2, true);
  }

  #bracket(length, image) {
    this.#brackets.push({ index: this.#nodes.length, image, active: true });
    this.#nodes.push({ type: "text", text: image ? "![" : "[" }, { type: "text", text: "" });
    this.#at += length;
    return true;
  }

  #closing() {
    const bracket = this.#brackets.pop();
    if (bracket === undefined || !bracket.active) return false;
    destination.lastIndex = this.#at + 1;
    const found = destination.exec(this.#text);
    if (found === null) return false;
    const inside = this.#emphasised(this.#nodes.splice(bracket.index).slice(1));
    const address = found[1] ?? found[2];
    if (bracket.image) this.#nodes.push({ type: "image", address, text: textOf(inside) });
    else this.#nodes.push({ type: "link", address, children: inside });
    if (!bracket.image) for (const outer of this.#brackets) outer.active &&= outer.image; // no link within a link
    this.#at = destination.lastIndex;
    return true;
  }

  #angle() {
    const found = this.#match(angleAddress);
    return found !== null && this.#link(found[1], found[0].length);
  }

  #bare() {
    const found = this.#match(bareAddress);
    if (found === null || /\w/.test(this.#text[this.#at - 1] ?? "")) return false;
    const address = trimmed(found[0]);
    return address.length > "https://".length && this.#link(address, address.length);
  }

  #link(address, length) {
    const inLink = this.#brackets.some((bracket) => bracket.active);
    if (inLink) return this.#add(this.#text.slice(this.#at, this.#at + length), length);
    this.#nodes.push({ type: "link", address, children: [{ type: "text", text: address }] });
    this.#at += length;
    return true;
  }

  /** Pairs the runs of a list of nodes. Those that find no partner are text. */
  #emphasised(nodes) {
    const out = [];
    const open = []; // where in out the runs are that wait for their partner
    for (const node of nodes) {
      if (node.type !== "run") {
        if (node.text !== "") out.push(node);
        continue;
      }
      if (node.closes) close(node, out, open);
      if (node.count === 0) continue;
      if (node.opens) open.push(out.length);
      out.push(node);
    }
    for (const at of open.toReversed()) this.missing ||= out[at].count === 2 ? out[at].mark.repeat(2) : "";
    return out.map((node) => (node.type === "run" ? { type: "text", text: node.mark.repeat(node.count) } : node));
  }
}

/** Closes with a run what it can of the runs that are open. */
function close(node, out, open) {
  while (node.count > 0) {
    const partner = open.findLastIndex((at) => out[at].mark === node.mark);
    if (partner < 0) return;
    const at = open[partner];
    const width = Math.min(node.count, out[at].count, 2);
    const children = out.slice(at + 1).map((one) => (one.type === "run" ? { type: "text", text: one.mark.repeat(one.count) } : one));
    const depth = 1 + Math.max(0, ...children.map((one) => one.depth ?? 0));
    if (depth > mostNested || (node.mark === "~" && width !== 2)) return;
    out.length = at + 1;
    open.length = partner + 1;
    out[at].count -= width;
    node.count -= width;
    if (out[at].count === 0) {
      out.pop();
      open.pop();
    }
    out.push({ type: node.mark === "~" ? "strike" : width === 2 ? "strong" : "em", children, depth });
  }
}

function runLength(text, at) {
  let end = at;
  while (text[end] === text[at]) end++;
  return end - at;
}

function isBlank(character) {
  return /\s/.test(character);
}

function isPunctuation(character) {
  return /[\p{P}\p{S}]/u.test(character);
}

/** An address in running text does not take the sentence's own marks along, nor a bracket that was opened before it. */
function trimmed(address) {
  for (;;) {
    const shorter = address.replace(/[.,;:!?'*_~\]}]+$/, "");
    if (shorter.endsWith(")") && count(shorter, ")") > count(shorter, "(")) address = shorter.slice(0, -1);
    else if (shorter === address) return address;
    else address = shorter;
  }
}

function count(text, character) {
  return text.split(character).length - 1;
}

/** What a list of nodes says. */
export function textOf(nodes) {
  return nodes.map((node) => node.text ?? textOf(node.children)).join("");
}

/**
 * What an address leads to: {href, host}, or undefined where it is not to be followed. `said` is whether the text names the host already;
 * where it does not, the host is to be shown, since "the invoice" may lead anywhere.
 */
export function target(address, text) {
  if (!/^(?:https?:\/\/|mailto:)[!-~\u00a1-\uffff]+$/i.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.protocol === "mailto:") return { href: url.href, host: url.pathname, said: text.includes(url.pathname) };
  if (!/^https?:$/.test(url.protocol) || url.host === "") return undefined;
  const plain = url.username === "" && url.password === "";
  const said = plain && new RegExp(`^(?:${url.protocol}//)?${escape(url.host)}(?:[/?#]|$)`, "i").test(text);
  return { href: url.href, host: url.host, said };
}

function escape(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
