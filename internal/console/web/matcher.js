// What a permission rule covers, in words. Every part must hold, so the words are a list of parts.

/**
 * The parts of a matcher: [{text, value, more}], such as {text: "commands that begin with", value: "git log"}.
 * A part that this console does not know is told by its name.
 */
export function matcherParts(matcher) {
  const known = Object.keys(words).filter((name) => Object.hasOwn(matcher, name));
  const unknown = Object.keys(matcher).filter((name) => !Object.hasOwn(words, name));
  return [...known.map((name) => words[name](matcher[name])), ...unknown.map((name) => ({ text: name, value: JSON.stringify(matcher[name]) }))];
}

const words = {
  argumentsHash: (value) => ({ text: "exactly the call with the hash", value }),
  tool: (value) => ({ text: "calls of the tool", value }),
  agent: (value) => ({ text: "made by the agent", value }),
  class: classWords,
  command: commandWords,
  path: (value) => ({ text: "on paths like", value }),
  host: hostWords,
  mcpServer: (value) => ({ text: "tools of the MCP server", value }),
  arguments: (patterns) => ({ text: "with arguments like", value: Object.entries(patterns).map(([name, glob]) => `${name}=${glob}`).join(", ") }),
  environment: (value) => ({ text: "in the environment", value }),
  environmentDigest: (value) => ({ text: "as it was defined with the digest", value }),
};

function classWords(value) {
  if (value === "none") return { text: "that need no capability" };
  if (value === "other") return { text: "that nobody could classify" };
  return { text: "that need the capability", value };
}

function commandWords(value) {
  const begins = value.endsWith(" *");
  return begins ? { text: "commands that begin with", value: value.slice(0, -2) } : { text: "exactly the command", value };
}

function hostWords(value) {
  if (value === "*") return { text: "to any host" };
  return value.startsWith("*.") ? { text: "to hosts below", value: value.slice(2) } : { text: "to the host", value };
}

/** What becomes of calls when a rule is revoked, by its effect. */
export function consequence(effect) {
  return Object.hasOwn(consequences, effect) ? consequences[effect] : "From the next call on, all calls are judged without it.";
}

const consequences = {
  allow: "From the next call on, a person is asked again, unless another rule allows the call. Earlier approvals stay.",
  ask: "What it had people asked about may run unasked from the next call on, where something else allows it.",
  deny: "What it refused is no longer refused: from the next call on a person is asked, or it runs, where something else allows it.",
};

/** Whether a rule holds: "holds", "revoked" or "expired". */
export function stateOf(rule, now) {
  if (rule.revokedAt !== null) return "revoked";
  return rule.expiresAt !== null && Date.parse(rule.expiresAt) <= now ? "expired" : "holds";
}
