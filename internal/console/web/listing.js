// What stands in a list that goes on while somebody looks at it. What is there keeps its place and is brought up to date in it; what is new
// waits until it is asked for, so nothing moves under a finger.

/** A list, newest first, of which the newest page is read again and again, and older pages once. */
export class Listing {
  #newest;

  /** @param {{items: object[], nextCursor: ?string}} page the newest */
  constructor(page) {
    this.#start(page);
  }

  #start(page) {
    this.shown = page.items;
    this.older = page.nextCursor; // of the page behind what is shown
    this.#newest = page;
    this.waiting = 0; // how many are new and not shown
    this.gone = []; // of what is shown, what the list does not have any more
  }

  /** Adds an older page at the end. */
  append(page) {
    const known = new Set(this.shown.map((one) => one.id));
    this.shown = [...this.shown, ...page.items.filter((one) => !known.has(one.id))];
    this.older = page.nextCursor;
  }

  /** Takes the newest page as it is now. Nothing changes its place; a list in which nothing stands has no places to keep. */
  refresh(page) {
    if (this.shown.length === 0) return this.#start(page);
    const now = new Map(page.items.map((one) => [one.id, one]));
    const covered = this.#covered(page, now);
    this.gone = this.shown.slice(0, covered).filter((one) => !now.has(one.id));
    this.shown = this.shown.map((one) => now.get(one.id) ?? one);
    const known = new Set(this.shown.map((one) => one.id));
    this.waiting = page.items.filter((one) => !known.has(one.id)).length;
    this.#newest = page;
  }

  /** How many of what is shown the page speaks about: those before the last that it has, or all where there is no other page. */
  #covered(page, now) {
    return page.nextCursor === null ? this.shown.length : this.shown.findLastIndex((one) => now.has(one.id)) + 1;
  }

  /** Puts another state of one that is shown into its place. */
  replace(entry) {
    this.shown = this.shown.map((one) => (one.id === entry.id ? entry : one));
  }

  /** Shows what waits, and takes away what has gone. Where more came than a page holds there would be a hole: then only the page is shown. */
  bringUp() {
    const page = this.#newest;
    const now = new Map(page.items.map((one) => [one.id, one]));
    const covered = this.#covered(page, now);
    if (covered === 0 || page.nextCursor === null) return this.#start(page);
    this.shown = [...page.items, ...this.shown.slice(covered).filter((one) => !now.has(one.id))];
    this.waiting = 0;
    this.gone = [];
  }
}
