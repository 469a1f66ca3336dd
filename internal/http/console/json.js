// JSON that comes back as it was sent. JavaScript's numbers cannot hold 12345678901234567890, and a person who approves a call must see
// the number that runs, not the nearest one that a browser can think of.

/** Reads JSON. A number that would be changed by reading it stays as it was written. */
export function parseJSON(text) {
  return JSON.parse(text, (_, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || context?.source === undefined || JSON.rawJSON === undefined) return value;
    return String(value) === context.source ? value : JSON.rawJSON(context.source);
  });
}

/** Writes JSON for people: names in order, so that two equal values look equal. */
export function showJSON(value) {
  return JSON.stringify(ordered(value), null, 2);
}

function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== "object" || JSON.isRawJSON?.(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, ordered(value[name])]));
}
