// The MCP servers of the operator: whether they can be used, what they are, and which tools and prompts they offer. A server is asked only when somebody wants to know,
// because the question starts a program or signs in to an address.

import { Problem, get } from "./api.js";
import { fill, h } from "./dom.js";
import { amount, plural } from "./format.js";
import { showJSON } from "./json.js";
import { busy, isBusy } from "./loading.js";
import { promptsView } from "./mcpprompts.js";
import { revealText, revealed } from "./reveal.js";

/** The colours of the badges are those of the outcomes of calls. */
const states = {
  unused: { text: "not asked yet" },
  available: { text: "available", status: "succeeded" },
  failed: { text: "failed", status: "failed" },
};

/** The card of a server. Its button asks the server itself, and draws the card again from the answer. */
export function mcpServerCard(server, signal) {
  const card = h("article", { class: "card mcp-server" });
  draw(card, server, signal);
  return card;
}

function draw(card, server, signal) {
  const state = states[server.status] ?? { text: server.status };
  const error = h("p", { class: "error", role: "alert" });
  const ask = h("button", { type: "button", on: { click: () => askServer(card, ask, error, server.name, signal) } },
    "Ask for its tools", h("span", { class: "off-screen" }, ` the server ${revealText(server.name)}`));
  fill(card,
    h("h3", {}, revealed(server.name)),
    h("div", { class: "availability stack" },
      h("div", { class: "row" }, h("span", { class: "badge", data: { status: state.status ?? "unused" } }, revealed(state.text)),
        server.deprecated ? h("span", { class: "badge" }, "deprecated transport") : null),
      server.lastError === null ? null : h("p", { class: "reason" }, revealed(server.lastError))),
    h("dl", { class: "facts" }, factsOf(server).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    server.tools.length === 0 ? null : tools(server.tools),
    promptsView(server, signal),
    h("div", { class: "row" }, ask,
      h("a", { class: "button", href: `#/new?${new URLSearchParams({ mcpServer: server.name })}` }, "New execution with this",
        h("span", { class: "off-screen" }, ` server: ${revealText(server.name)}`))),
    error);
  return ask;
}

async function askServer(card, button, error, name, signal) {
  if (isBusy(button)) return;
  busy(button, true);
  fill(error);
  try {
    const server = await get(`/mcp-servers/${encodeURIComponent(name)}`, {}, { signal });
    draw(card, server, signal).focus();
  } catch (problem) {
    if (problem instanceof Problem) fill(error, revealed(problem.message));
    else if (problem.name !== "AbortError") throw problem;
  } finally {
    busy(button, false);
  }
}

function factsOf(server) {
  const rules = [
    server.required ? "An execution that cannot use it fails." : undefined,
    server.keepRunning ? "Its program keeps running while an execution waits." : undefined,
    server.trustHints ? "Its read-only hints are trusted." : undefined,
    server.pinned ? undefined : "A rule of an operator covers changed tools, too.",
  ].filter((rule) => rule !== undefined);
  return [
    ["Transport", server.transport],
    ["Version", server.version === null ? amount(null) : revealed(server.version)],
    ["Protocol", server.protocol === null ? amount(null) : revealed(server.protocol)],
    ["Connected", plural(server.connections, "execution")],
    ...(rules.length === 0 ? [] : [["Rules", rules.join(" ")]]),
  ];
}

function tools(all) {
  return h("details", { class: "tools" }, h("summary", {}, plural(all.length, "tool")), h("div", { class: "stack" }, all.map(toolCard)));
}

function toolCard(tool) {
  return h("section", { class: "tool stack" },
    h("h4", { class: "row" }, h("code", {}, revealed(tool.name)), claimsOf(tool.annotations).map((claim) => h("span", { class: "badge" }, claim))),
    h("p", { class: "told small" }, revealed(tool.description)),
    tool.inputSchema === undefined ? null
      : h("details", {}, h("summary", {}, "Arguments"), h("pre", { class: "code" }, revealed(showJSON(tool.inputSchema)))));
}

/** What a server claims of the effects of its tool. */
export function claimsOf({ readOnlyHint, destructiveHint }) {
  return [readOnlyHint === true ? "says: read-only" : undefined, destructiveHint === true ? "says: destructive" : undefined].filter((claim) => claim !== undefined);
}
