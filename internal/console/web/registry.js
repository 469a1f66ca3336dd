// What can answer a prompt here: agents and models, whether they can be used, and where they cannot, what is missing. And the tools that
// the internal agent has, of its own and of MCP servers.

import { get } from "./api.js";
import { availability } from "./availability.js";
import { fill, h } from "./dom.js";
import { environmentChip, riskText, shows } from "./environment.js";
import { amount } from "./format.js";
import { showJSON } from "./json.js";
import { loading } from "./loading.js";
import { mcpServerCard } from "./mcpservers.js";
import { revealText, revealed } from "./reveal.js";

/** Draws the registry of the server. */
export function showRegistry({ main, signal }) {
  const agents = h("div", { class: "registry" });
  const models = h("div", { class: "registry" });
  const environments = h("div", { class: "registry" });
  const servers = h("div", { class: "registry" });
  const tools = h("div", { class: "stack" });
  main.append(
    h("h1", {}, "Agents and models"),
    h("section", { class: "stack", "aria-labelledby": "agents" }, h("h2", { id: "agents" }, "Agents"), agents),
    h("section", { class: "stack", "aria-labelledby": "models" }, h("h2", { id: "models" }, "Models"), models),
    h("section", { class: "stack", "aria-labelledby": "environments" }, h("h2", { id: "environments" }, "Environments"), environments),
    h("section", { class: "stack", "aria-labelledby": "servers" }, h("h2", { id: "servers" }, "MCP servers"), servers),
    h("section", { class: "stack", "aria-labelledby": "tools" }, h("h2", { id: "tools" }, "Tools"),
      h("details", { class: "card tools" }, h("summary", {}, "Show the tools of the internal agent"), tools)));
  list(agents, signal, "/agents", agentCard, "No agent is set up.");
  list(models, signal, "/models", modelCard, "No model is set up.");
  list(environments, signal, "/environments", environmentCard, "No environment is set up.");
  list(servers, signal, "/mcp-servers", (server) => mcpServerCard(server, signal), "No MCP server is set up.");
  list(tools, signal, "/tools", toolCard, "The internal agent has no tools.");
}

function list(place, signal, path, card, none) {
  return loading(place, signal, () => get(path, {}, { signal }), ({ items }) => {
    fill(place, items.length === 0 ? h("p", { class: "muted" }, none) : items.map((entry) => card(entry)));
  });
}

function agentCard(agent) {
  return h("article", { class: "card" },
    h("h3", {}, revealed(agent.name)),
    h("p", {}, revealed(agent.description)),
    availability(agent),
    facts([
      ["Type", agent.type === "acp" ? "external, by the Agent Client Protocol" : revealText(agent.type)],
      ["Version", agent.version === null ? amount(null) : revealed(agent.version)],
      agent.mode === null ? undefined : ["Mode", revealed(agent.mode)],
      agent.defaultModel === null ? undefined : ["Model", revealed(agent.defaultModel)],
      agent.type === "acp" ? ["Isolation", isolationOf(agent)] : undefined,
    ]),
    agent.available ? start("agent", agent.name) : null);
}

function isolationOf({ environment }) {
  if (!environment) return "none: it has the files and the network of the server's user";
  return ["isolated, in the environment ", h("strong", {}, revealed(environment))];
}

function environmentCard(environment) {
  const { name, risk, default: isDefault } = environment;
  return h("article", { class: "card" },
    h("h3", { class: "row" }, revealed(name), environmentChip({ name, risk }), isDefault ? h("span", { class: "badge" }, "default") : null),
    availability(environment),
    h("p", {}, riskText(risk)),
    h("ul", { class: "matcher small" }, shows(environment).map((sentence) => h("li", {}, revealed(sentence)))));
}

function modelCard(model) {
  return h("article", { class: "card" },
    h("h3", {}, revealed(model.name), model.default ? [" ", h("span", { class: "badge" }, "default")] : null),
    availability(model),
    facts([
      ["Provider", revealed(model.provider)],
      ["Its name there", model.model === "" ? amount(null) : revealed(model.model)],
      ["Context window", model.contextWindow === null ? amount(null) : `${amount(model.contextWindow)} tokens`],
    ]),
    model.available ? start("model", model.name) : null);
}

function facts(all) {
  return h("dl", { class: "facts" }, all.filter((fact) => fact !== undefined).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function start(kind, name) {
  const href = `#/new?${new URLSearchParams({ [kind]: name })}`;
  return h("p", {}, h("a", { class: "button", href }, "New execution with this", h("span", { class: "off-screen" }, ` ${kind}: ${revealText(name)}`)));
}

function toolCard(tool) {
  const needs = tool.class === "none" ? "needs nobody's word" : revealText(tool.class);
  return h("section", { class: "tool stack" },
    h("h3", { class: "row" }, h("code", {}, revealed(tool.name)), h("span", { class: "badge" }, needs)),
    h("p", { class: "told small" }, revealed(tool.description)),
    h("details", {}, h("summary", {}, "Arguments of version ", revealed(tool.version)), h("pre", { class: "code" }, revealed(showJSON(tool.schema)))));
}
