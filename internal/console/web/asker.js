// Who asked: the execution behind an approval, and what confines the commands that it runs. Each is asked for once, however many cards want to
// know, and a few at a time; a key that may not read it leaves the card without.

import { executionPath, get } from "./api.js";
import { h } from "./dom.js";
import { shortId } from "./format.js";
import { lookup } from "./lookup.js";
import { reveal, revealed } from "./reveal.js";

const known = new Map();
const most = 300;

/** Forgets all: another token may not see the same. */
export function forgetAskers() {
  known.clear();
}

/** The execution, or null where it cannot be read. */
export function executionOf(id) {
  return once(`execution ${id}`, () => get(executionPath(id)));
}

function once(key, ask) {
  if (!known.has(key)) known.set(key, inTurn(ask).catch(() => (known.delete(key), null)));
  if (known.size > most) known.delete(known.keys().next().value);
  return known.get(key);
}

const lanes = [Promise.resolve(), Promise.resolve()]; // a browser has six connections for a host, and streams take some
let next = 0;

function inTurn(ask) {
  const lane = next++ % lanes.length;
  const answer = lanes[lane].then(ask);
  lanes[lane] = answer.catch(() => {});
  return answer;
}

/** Two lines about who asked, each of one line's height: nothing moves when the execution is known. */
export function askerView(approval, execution) {
  const link = h("a", { href: `#${executionPath(approval.executionId)}` }, `Execution ${shortId(approval.executionId)}`);
  const agent = h("span", { class: "muted small" }, "–");
  const show = (found) => {
    if (found === null) return;
    const prompt = promptOf(found);
    if (prompt !== "") link.replaceChildren(revealed(prompt));
    agent.replaceChildren(reveal(agentText(found)));
  };
  if (execution === undefined) executionOf(approval.executionId).then(show);
  else show(execution);
  return h("div", { class: "asker" }, h("span", { class: "one-line" }, link), h("span", { class: "one-line" }, agent));
}

function promptOf(execution) {
  const text = execution.prompt ?? execution.messages?.findLast((message) => message.role === "user")?.content ?? "";
  return text.replace(/\s+/g, " ").trim().slice(0, 160);
}

/** "internal agent, qwen3 · turn 2 · Execution 1a2b3c4d" */
function agentText({ id, source = {}, turn }) {
  const agent = source.type === "internal" ? "internal agent" : `agent ${source.command ?? source.type ?? "unknown"}`;
  const model = source.model === undefined || source.model === null ? "" : `, ${source.model}`;
  return `${agent}${model} · turn ${turn ?? "–"} · execution ${shortId(id)}`;
}

const within = "it writes only below the working directory, and reaches only hosts that its arguments name";
const isolations = {
  bubblewrap: `bubblewrap: ${within}`,
  namespaces: `namespaces: ${within}`,
  none: "none: the operator has switched the sandbox off",
};

/** Describes the isolation of a call; an unknown name stays as it is. */
export function confinementText(isolation, kind, environment) {
  if (environment?.risk === "host") return "none: its environment has none";
  if (environment?.risk === "machine" && isolation !== "none") return `${isolation}: it sees, writes and reaches what its environment shows, and hosts that its arguments name`;
  if (kind === "agentPermission" && isolation === "none") return "none: the agent runs it itself, with the files and the network of the server's user";
  return lookup(isolations, isolation) ?? isolation;
}
