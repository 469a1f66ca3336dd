// Two texts compared line by line, exactly as the server does it (internal/events/items): whoever reads a diff here and asks the API for it
// must see the same lines. Both bounds keep a hostile pair of texts from holding up the page.

/** How many lines of both texts are compared. Beyond it, all between the first and the last difference counts as replaced. */
const comparedLines = 20_000;
/** How different they may be, in the same way: the work grows with its product with the lines. */
const comparedEdits = 400;
/** How many unchanged lines are shown around those that have changed. */
const contextLines = 3;

/** The lines of a text, with their ends. */
export function lines(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** The way from the old lines to the new ones, with the fewest changes within the bounds: [{op: " " | "-" | "+", text}] */
export function compared(old, current) {
  const shorter = Math.min(old.length, current.length);
  let head = 0;
  while (head < shorter && old[head] === current[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === current.at(-1 - tail)) tail++;
  return [
    ...old.slice(0, head).map(as(" ")),
    ...between(old.slice(head, old.length - tail), current.slice(head, current.length - tail)),
    ...old.slice(old.length - tail).map(as(" ")),
  ];
}

function as(op) {
  return (text) => ({ op, text });
}

function between(old, current) {
  const found = old.length + current.length <= comparedLines ? new Search(old, current).fewestEdits() : undefined;
  return found ?? [...old.map(as("-")), ...current.map(as("+"))];
}

/**
 * Finds the shortest way, unless it is too long. The greedy way of Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986:
 * with each further edit it goes as far as it can on every diagonal. A diagonal is the number of old lines that are behind, less the new ones.
 */
class Search {
  constructor(old, current) {
    Object.assign(this, { old, current, reached: [] }); // reached: by edits and diagonal + edits, how many old lines are behind
  }

  fewestEdits() {
    const most = Math.min(this.old.length + this.current.length, comparedEdits);
    for (let edits = 0; edits <= most; edits++) if (this.advance(edits)) return this.script(edits);
    return undefined;
  }

  /** Goes one edit further on every diagonal. Returns whether that was the end of both texts. */
  advance(edits) {
    const row = new Int32Array(2 * edits + 1);
    let arrived = false;
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let { x } = this.enter(edits, diagonal);
      while (x < this.old.length && x - diagonal < this.current.length && this.old[x] === this.current[x - diagonal]) x++;
      row[diagonal + edits] = x;
      arrived ||= x >= this.old.length && x - diagonal >= this.current.length;
    }
    this.reached.push(row);
    return arrived;
  }

  /** Where a diagonal is entered with the last of so many edits: from below by removing an old line, from above by adding a new one. */
  enter(edits, diagonal) {
    if (edits === 0) return { x: 0, added: false };
    const before = this.reached[edits - 1];
    const below = diagonal - 1 + edits - 1;
    const above = diagonal + 1 + edits - 1;
    if (diagonal === -edits || (diagonal !== edits && before[below] < before[above])) return { x: before[above], added: true };
    return { x: before[below] + 1, added: false };
  }

  /** Walks the way back from the end. Its first step is an edit, since the texts differ in their first lines. */
  script(edits) {
    const back = [];
    let x = this.old.length;
    let diagonal = this.old.length - this.current.length;
    for (; edits > 0; edits--) {
      const { x: from, added } = this.enter(edits, diagonal);
      for (; x > from; x--) back.push({ op: " ", text: this.old[x - 1] });
      back.push(added ? { op: "+", text: this.current[from - diagonal - 1] } : { op: "-", text: this.old[from - 1] });
      if (!added) x = from - 1;
      diagonal += added ? 1 : -1;
    }
    return back.reverse();
  }
}

/** The hunks of a script, as a unified diff without its two lines of names. */
export function unified(script) {
  const text = [];
  let [old, current, done] = [0, 0, 0]; // lines of the two texts, and of the script, that are behind us
  for (let at = 0; at < script.length; at++) {
    if (script[at].op === " ") continue;
    const from = Math.max(done, at - contextLines);
    const to = hunkEnd(script, at);
    old += from - done;
    current += from - done;
    const [removed, added] = writeHunk(text, script.slice(from, to), old, current);
    old += removed;
    current += added;
    done = to;
    at = to - 1;
  }
  return text.join("");
}

/** Changes whose context would touch or overlap share a hunk. */
function hunkEnd(script, from) {
  let last = from;
  for (let at = from; at < script.length && at <= last + 2 * contextLines + 1; at++) if (script[at].op !== " ") last = at;
  return Math.min(last + contextLines + 1, script.length);
}

function writeHunk(text, hunk, oldBefore, currentBefore) {
  const old = hunk.filter((line) => line.op !== "+").length;
  const current = hunk.filter((line) => line.op !== "-").length;
  text.push(`@@ -${range(oldBefore, old)} +${range(currentBefore, current)} @@\n`);
  for (const line of hunk) text.push(line.op, line.text, line.text.endsWith("\n") ? "" : "\n\\ No newline at end of file\n");
  return [old, current];
}

/** The first line, from 1, and the number of lines; where there are none, the line before them. */
function range(before, count) {
  return count === 0 ? `${before},0` : `${before + 1},${count}`;
}
