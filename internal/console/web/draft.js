// What a person has begun to write about a new execution. It is kept in the tab until the execution has started, so neither a reload,
// a wrong tap nor a token that ended takes it; and it knows the key under which it was sent, so sending it again starts nothing twice.

import { randomKey } from "./random.js";

const place = "signoff.draft";

/** The draft of this tab. `values` is undefined where nothing was written yet. */
export class Draft {
  /** @param {?string} from the id of the execution that the form is to be filled from: a draft of another one does not count */
  constructor(from) {
    this.from = from;
    const kept = read();
    const counts = from === null || kept.from === from;
    this.values = counts ? kept.values : undefined;
    this.sent = counts ? kept.sent : undefined; // {key, body}: the newest that was sent
    if (counts) this.from = kept.from ?? null;
  }

  change(values) {
    if (isBlank(values)) return this.forget();
    this.values = values;
    this.#keep();
  }

  /** The idempotency key for a body: the same for the same one, whoever presses twice and whatever answer is lost. */
  keyFor(body) {
    const text = JSON.stringify(body);
    if (this.sent?.body !== text) this.sent = { key: randomKey(), body: text };
    this.#keep();
    return this.sent.key;
  }

  #keep() {
    try {
      sessionStorage.setItem(place, JSON.stringify({ from: this.from, values: this.values, sent: this.sent }));
    } catch {
      sessionStorage.removeItem(place); // too long to be kept: it lives as long as the page
    }
  }

  forget() {
    this.values = undefined;
    this.sent = undefined;
    sessionStorage.removeItem(place);
  }
}

function isBlank(values) {
  return Object.entries(values).every(([name, value]) => name === "type" || value === "" || value === false || value === null || value.length === 0);
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(place)) ?? {};
  } catch {
    return {};
  }
}
