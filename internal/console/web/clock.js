// One clock for all that grows older on the page: ages, and what is left until something expires.

import { say } from "./dom.js";
import { duration } from "./format.js";

const running = new Set();
let ticking;
let ahead = 0; // of the server's clock before this machine's, in milliseconds

/** Takes the server's time from an answer: a laptop whose clock is wrong must not call an open question expired. */
export function learnTime(response) {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (!Number.isNaN(date)) ahead = Math.abs(date - Date.now()) < 2000 ? 0 : date - Date.now();
}

/** The time by the server's clock, in milliseconds. */
export function now() {
  return Date.now() + ahead;
}

/** Has an element say `tell(now)` each second, as long as it is in the page. */
export function tick(element, tell) {
  const entry = { element: new WeakRef(element), tell, seen: false };
  say(element, tell(now()));
  running.add(entry);
  ticking ??= setInterval(step, 1000);
  return element;
}

function step() {
  for (const entry of running) {
    const element = entry.element.deref();
    if (element === undefined || (entry.seen && !element.isConnected)) {
      running.delete(entry);
      continue;
    }
    entry.seen ||= element.isConnected;
    say(element, entry.tell(now()));
  }
  if (running.size > 0) return;
  clearInterval(ticking);
  ticking = undefined;
}

/** "3 min ago", ageing. */
export function age(element, time) {
  const since = Date.parse(time);
  element.title = new Date(since).toLocaleString();
  return tick(element, (at) => (at - since < 1000 ? "now" : `${duration(at - since)} ago`));
}

/** "expires in 3 min", running out; a colour of its own in the last two minutes. */
export function expiry(element, time) {
  if (time === null || time === undefined) return say(element, "never expires");
  const end = Date.parse(time);
  element.title = new Date(end).toLocaleString();
  return tick(element, (at) => {
    element.classList.toggle("urgent", end - at < 120_000);
    return end > at ? `expires in ${duration(end - at)}` : "expired";
  });
}
