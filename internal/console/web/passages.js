// Markdown taken apart into its passages, while it still grows. Pure. A passage that is finished stays as it is; only what comes behind the
// last of them may still turn into something else. What a reader does not know, HTML above all, is text.

/** A passage that grows beyond this is cut: code, lists and tables go on in another of their kind, all else as plain text. */
const longest = 8192;
const mostNested = 6;
const tabWidth = "    ";

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const underline = /^ {0,3}(=+|-{2,})[ \t]*$/;
const quote = /^ {0,3}> ?/;
const entry = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:( +)(.*)|)$/;
const delimiters = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const onlyMarks = /^\s*(?:[`~#>*+=_-]+|\d{1,9}[.)]?|\|[-:| ]*)\s*$/;

/**
 * A reader of Markdown that comes in pieces. Passages:
 * {type: "paragraph" | "plain", text}, {type: "heading", level, text}, {type: "code", language, text, continued}, {type: "rule"},
 * {type: "quote", passages}, {type: "list", start, items: [{passages, done}]}, {type: "table", head, align, rows}.
 */
export class Passages {
  #rest = ""; // of a line that has no end yet
  #open; // {kind, lines, size, …}: the passage that may go on
  #finished = [];
  #depth;

  constructor(depth = 0) {
    this.#depth = depth;
  }

  /** Takes a piece of text and returns the passages that are finished with it. */
  push(text) {
    const all = (this.#rest + text).split("\n");
    this.#rest = all.pop();
    for (const line of all) this.#line(line);
    while (this.#rest.length > longest) this.#breakLine();
    return this.#take();
  }

  /** The text is over. Returns the passages that this finishes. */
  end() {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
    this.#finish();
    return this.#take();
  }

  /** What stands behind the finished passages, as far as it can be told by now. Nothing of it is final. */
  open() {
    const trial = new Passages(this.#depth);
    trial.#open = this.#open && { ...this.#open, lines: [...this.#open.lines], open: true };
    if (this.#rest !== "" && !onlyMarks.test(this.#rest)) trial.#line(this.#rest);
    if (trial.#open) trial.#open.open = true;
    trial.#finish();
    return trial.#take();
  }

  #take() {
    const finished = this.#finished;
    this.#finished = [];
    return finished;
  }

  /** A line without an end, of a megabyte, is cut at a blank. */
  #breakLine() {
    const blank = this.#rest.lastIndexOf(" ", longest);
    let at = blank > longest / 2 ? blank + 1 : longest;
    if (/[\ud800-\udbff]/.test(this.#rest[at - 1])) at--;
    this.#line(this.#rest.slice(0, at));
    if (this.#open !== undefined) this.#cut();
    this.#rest = this.#rest.slice(at);
  }

  #line(ended) {
    const line = ended.replace(/\r$/, "").replace(/^[ \t]*\t/, (blanks) => blanks.replaceAll("\t", tabWidth));
    const how = this.#open === undefined ? ends : goesOn[this.#open.kind](this.#open, line);
    if (how === adds) this.#add(line);
    if (how === ends) {
      this.#finish();
      this.#begin(line);
    }
    if (this.#open?.over) this.#finish();
    else if (this.#open?.size > longest) this.#cut();
  }

  #begin(line) {
    if (isBlank(line)) return;
    const [marks, language] = fence.exec(line)?.slice(1) ?? [];
    if (marks !== undefined) this.#open = { kind: "code", lines: [], size: 0, marks, language: language.trim(), continued: false };
    else if (heading.test(line)) this.#single(headingOf(line));
    else if (rule.test(line)) this.#single({ type: "rule" });
    else this.#add(line, kindOf(line));
  }

  #single(passage) {
    this.#finished.push(passage);
  }

  #add(line, kind) {
    if (kind !== undefined) this.#open = { kind, lines: [], size: 0 };
    this.#open.lines.push(line);
    this.#open.size += line.length + 1;
  }

  #finish() {
    if (this.#open === undefined) return;
    const passage = made[this.#open.kind](this.#open, this.#depth);
    if (passage !== undefined) this.#finished.push(passage);
    this.#open = undefined;
  }

  #cut() {
    const { kind, marks, language, align } = this.#open;
    this.#finish();
    if (kind === "code") this.#open = { kind, lines: [], size: 0, marks, language, continued: true };
    else if (kind === "table") this.#open = { kind, lines: [], size: 0, align };
    else this.#open = { kind: "plain", lines: [], size: 0 };
  }
}

/** Reads all of a text that is whole. */
export function passages(text, depth = 0) {
  const reader = new Passages(depth);
  return [...reader.push(text), ...reader.end()];
}

function isBlank(line) {
  return line.trim() === "";
}

function kindOf(line) {
  if (quote.test(line)) return "quote";
  if (entry.test(line)) return "list";
  return line.startsWith(tabWidth) ? "indented" : "paragraph";
}

/** Whether a line ends the paragraph before it without an empty line between. A sentence may well have "1984. " at the beginning of a line. */
function interrupts(line) {
  const [, , , number, , content] = entry.exec(line) ?? [];
  return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || (!!content && (number === undefined || number === "1"));
}

/** How a passage goes on with a line: the line is one of its own; it says something of it and is used up by that; it is not its own. */
const [adds, uses, ends] = ["adds", "uses", "ends"];

const goesOn = {
  code(open, line) {
    const closing = line.trim();
    open.over = closing.length >= open.marks.length && closing === open.marks[0].repeat(closing.length);
    return open.over ? uses : adds;
  },
  paragraph(open, line) {
    if (underline.test(line)) {
      Object.assign(open, { kind: "underlined", over: true, level: line.includes("=") ? 1 : 2 });
      return uses;
    }
    if (isDelimiters(line, open.lines)) {
      Object.assign(open, { kind: "table", align: cells(line).map(alignment), head: open.lines.pop() });
      return uses;
    }
    return isBlank(line) || interrupts(line) ? ends : adds;
  },
  plain: (open, line) => (isBlank(line) ? ends : adds),
  quote: (open, line) => (quote.test(line) ? adds : ends),
  indented: (open, line) => (isBlank(line) || line.startsWith(tabWidth) ? adds : ends),
  table: (open, line) => (isBlank(line) || !line.includes("|") ? ends : adds),
  list(open, line) {
    const here = rule.test(line) ? null : entry.exec(line);
    open.width ??= widthOf(entry.exec(open.lines[0]));
    if (here !== null && here[1].length < open.width) return nextItem(open, here);
    if (here !== null || isBlank(line) || line.startsWith("  ")) return adds;
    return isBlank(open.lines.at(-1)) || interrupts(line) || rule.test(line) ? ends : adds;
  },
};

/** A long list goes on in another one, between two items. */
function nextItem(open, here) {
  open.width = widthOf(here);
  return entry.exec(open.lines[0])[2].at(-1) === here[2].at(-1) && open.size < longest / 2 ? adds : ends;
}

/** How much stands before the words of an item. */
function widthOf([, indent, mark, , blanks = " "]) {
  return indent.length + mark.length + (blanks.length > 4 ? 1 : blanks.length);
}

/** The second line of a table, which makes the first one its head. */
function isDelimiters(line, before) {
  return before.length === 1 && before[0].includes("|") && delimiters.test(line) && cells(before[0]).length === cells(line).length;
}

/** The passage that the lines of an open one make; undefined: nothing. */
const made = {
  code: ({ lines, language, continued }) => (continued && lines.length === 0 ? undefined : { type: "code", language, text: lines.join("\n"), continued }),
  indented: ({ lines }) => ({ type: "code", language: "", text: lines.map((line) => line.slice(tabWidth.length)).join("\n").trimEnd(), continued: false }),
  paragraph: ({ lines, open }) => ({ type: "paragraph", text: lines.map((line) => line.trim()).join("\n"), open }),
  underlined: ({ lines, level }) => ({ type: "heading", level, text: lines.map((line) => line.trim()).join("\n") }),
  plain: ({ lines }) => (lines.length === 0 ? undefined : { type: "plain", text: lines.join("\n") }),
  quote: ({ lines }, depth) => ({ type: "quote", passages: within(lines.map((line) => line.replace(quote, "")), depth) }),
  list: ({ lines }, depth) => listOf(lines, depth),
  table: ({ head, align, lines }) =>
    (head === undefined && lines.length === 0 ? undefined : { type: "table", head: head && cells(head), align, rows: lines.map(cells) }),
};

function within(lines, depth) {
  const text = lines.join("\n");
  return depth >= mostNested ? [{ type: "plain", text }] : passages(text, depth + 1);
}

function headingOf(line) {
  const [, marks, text = ""] = heading.exec(line);
  return { type: "heading", level: marks.length, text };
}

function listOf(lines, depth) {
  const items = [];
  let width = 0; // of what stands before the words of the item
  for (const line of lines) {
    const here = entry.exec(line);
    if (here !== null && (items.length === 0 || here[1].length < width)) {
      width = widthOf(here);
      items.push([here[5] ?? ""]);
    } else items.at(-1).push(line.slice(Math.min(width, line.length - line.trimStart().length)));
  }
  const number = entry.exec(lines[0])[3];
  return { type: "list", start: number === undefined ? undefined : Number(number), items: items.map((item) => itemOf(item, depth)) };
}

/** An item; of one that is to be ticked off, whether it is done. */
function itemOf(lines, depth) {
  const [task, mark] = /^\[([ xX])\] +/.exec(lines[0]) ?? [""];
  const words = [lines[0].slice(task.length), ...lines.slice(1)];
  return { passages: within(words, depth), done: mark === undefined ? undefined : mark !== " " };
}

/** The cells of a row. A bar after a backslash or within code is no border. */
function cells(line) {
  const row = line.trim();
  const parts = [""];
  let code = false;
  for (const [part] of row.matchAll(/\\?[^]/gu)) {
    code = part === "`" ? !code : code;
    if (part === "|" && !code) parts.push("");
    else parts[parts.length - 1] += part === "\\|" ? "|" : part;
  }
  if (row.startsWith("|")) parts.shift();
  if (parts.length > 1 && parts.at(-1) === "" && row.endsWith("|")) parts.pop();
  return parts.map((cell) => cell.trim());
}

function alignment(cell) {
  if (/^:.*:$/.test(cell)) return "center";
  return cell.endsWith(":") ? "end" : "start";
}
