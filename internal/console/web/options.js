// The options of an external agent, as it sent them, and what Signoff can tell of each.

import { lookup } from "./lookup.js";
import { revealText } from "./reveal.js";

/** Those that can be chosen: [{optionId, name, kind, meaning}]. An entry that is none is passed over, as on the server. */
export function optionsOf(options) {
  const all = Array.isArray(options) ? options : [];
  return all.filter((one) => typeof one?.optionId === "string" && one.optionId !== "").map((one) => {
    const kind = typeof one.kind === "string" ? one.kind : "";
    const name = typeof one.name === "string" && one.name.trim() !== "" ? one.name : one.optionId;
    return { optionId: one.optionId, name, kind, meaning: meaning(kind) };
  });
}

/** The decision that an option stands for: approve or deny by its kind, and unclear where its kind says neither. */
export function verbOf(kind) {
  if (kind.startsWith("allow_")) return "approve";
  return kind.startsWith("reject_") ? "deny" : "unclear";
}

function meaning(kind) {
  return lookup(meanings, kind) ?? `The agent calls this “${revealText(kind)}”.`;
}

const meanings = {
  allow_once: "Yes, this once.",
  allow_always: "Yes, and the agent remembers it: you will not be asked the like again.",
  reject_once: "No, this once.",
  reject_always: "No, and the agent remembers it.",
  "": "The agent does not say whether this is a yes or a no.",
};
