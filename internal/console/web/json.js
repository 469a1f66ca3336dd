// JSON that comes back as it was sent. JavaScript's numbers cannot hold 12345678901234567890, and a person who approves a call must see
// the number that runs, not the nearest one that a browser can think of.

/** What is deeper than this is not read. The server lets nothing in that is deeper than 64 levels; a log of an older one may have it. */
const deepest = 200;

/** Reads JSON. A number that would be changed by reading it stays as it was written. */
export function parseJSON(text) {
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return cut(JSON.parse(text), deepest); // the reviver has no end of the stack to spare, and one document must not stop a whole feed
  }
}

function exact(_, value, context) {
  if (typeof value !== "number" || Number.isSafeInteger(value) || context?.source === undefined || JSON.rawJSON === undefined) return value;
  return String(value) === context.source ? value : JSON.rawJSON(context.source);
}

function cut(value, levels) {
  if (value === null || typeof value !== "object") return value;
  if (levels === 0) return "⟨too deep to be shown⟩";
  if (Array.isArray(value)) return value.map((one) => cut(one, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, levels - 1)]));
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
