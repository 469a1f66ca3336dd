// Keys that nobody else has.

/** An idempotency key. crypto.randomUUID is not there over plain HTTP; this is. */
export function randomKey() {
  return `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
