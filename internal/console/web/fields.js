// What can be said about a new execution: the members of CreateExecution that have a field of their own, in words for people.
// body.js makes the request of them, new.js the form. All other members can be given as JSON, in the field "further".

/** What the API takes where a request says nothing and GET /settings does not tell, either. */
export const fixedDefaults = { maxIterations: 50, idleTimeoutSeconds: 86400 };

const capability = (name, label) => ({ name, label, pointer: `/capabilities/${name}`, kind: "text" });

export const capabilities = [
  capability("read", "Read files"),
  capability("write", "Change files"),
  capability("execute", "Run commands"),
  capability("network", "Reach hosts"),
  capability("mcp", "Use MCP servers"),
  capability("delegate", "Delegate to agents"),
  capability("host", "Work on the host"),
];

/**
 * name: of the value and of the control; pointer: of the member in the body; kind: how the value is read, see body.js;
 * only: the type of source that it belongs to; rows: of its text area; sends: what a check mark says.
 */
export const fields = [
  { name: "type", pointer: "/source/type", kind: "text", label: "Who answers" },
  { name: "model", pointer: "/source/model", kind: "text", only: "internal", label: "Model" },
  { name: "command", pointer: "/source/command", kind: "text", only: "acp", label: "Agent" },
  { name: "agentModel", pointer: "/source/model", kind: "text", only: "acp", label: "Model of the agent", hint: "As the agent itself calls it." },
  {
    name: "mode", pointer: "/source/mode", kind: "text", only: "acp", label: "Mode of the agent",
    hint: "In some modes an agent does not ask before it acts.",
  },
  {
    name: "options", pointer: "/source/options", kind: "pairs", rows: 2, only: "acp", label: "Options of the agent",
    hint: "One option=value on each line; an option is named by its id or its category.", placeholder: "thought_level=high",
  },
  { name: "files", pointer: "/prompt", kind: "files", label: "Pictures and files" },
  { name: "prompt", pointer: "/prompt", kind: "text", rows: 8, label: "Prompt" },
  ...capabilities,
  {
    name: "workingDirectory", pointer: "/workingDirectory", kind: "text", label: "Working directory",
    hint: "Inside the server's workspace.", placeholder: "the workspace itself",
  },
  { name: "environment", pointer: "/environment", kind: "environment", label: "Environment" },
  { name: "keepOpen", pointer: "/keepOpen", kind: "check", sends: true, label: "Keep it open for further prompts" },
  {
    name: "systemPrompt", pointer: "/systemPrompt", kind: "text", rows: 4, label: "System prompt",
    hint: "Replaces the persona of the internal agent, never its safety rules.",
  },
  { name: "instructions", pointer: "/instructions", kind: "text", rows: 4, label: "Instructions", hint: "Are appended to the system prompt." },
  {
    name: "fullTrust", pointer: "/safeMode", kind: "check", sends: false, label: "Full trust (safe mode off)",
    hint: "Nothing asks but the catastrophic, and nothing is refused but what is off, denied or blocked.",
  },
  {
    name: "timeoutSeconds", pointer: "/timeoutSeconds", kind: "number", label: "Time for a turn, in seconds",
    hint: "The clock stops while an approval is open. 0 is no limit.",
  },
  {
    name: "approvalTimeoutSeconds", pointer: "/approvalTimeoutSeconds", kind: "number", label: "Time for an approval, in seconds",
    hint: "Then it expires, which is no human no. 0 is no limit.",
  },
  {
    name: "retryForSeconds", pointer: "/retry/forSeconds", kind: "number", only: "internal", label: "Ask a failing model again for, in seconds",
    hint: "Then the execution is interrupted, and a person chooses. 0 is no retries.",
  },
  {
    name: "idleTimeoutSeconds", pointer: "/idleTimeoutSeconds", kind: "number", label: "Idle for at most, in seconds",
    hint: "Of one that is kept open. 0 is for ever.",
  },
  {
    name: "maxIterations", pointer: "/maxIterations", kind: "number", only: "internal", label: "Rounds in a turn",
    hint: "How often the model may ask for tools.",
  },
  { name: "budgetTokens", pointer: "/budget/tokens", kind: "number", label: "Budget: tokens", placeholder: "no bound" },
  { name: "budgetCost", pointer: "/budget/cost", kind: "number", label: "Budget: cost", placeholder: "no bound" },
  { name: "budgetToolCalls", pointer: "/budget/toolCalls", kind: "number", label: "Budget: tool calls", placeholder: "no bound" },
  { name: "budgetSeconds", pointer: "/budget/seconds", kind: "number", label: "Budget: seconds of active time", placeholder: "no bound" },
  {
    name: "memory", pointer: "/memory/enabled", kind: "check", sends: true, label: "Memory",
    hint: "Shared notes are read into the prompt, and the agent may write them.",
  },
  { name: "tools", pointer: "/tools/enabled", kind: "list", label: "Tools" },
  {
    name: "bashPolicy", pointer: "/tools/bashPolicy", kind: "json", rows: 4, label: "Bash policy, as JSON",
    placeholder: '{"defaultBehavior": "deny", "rules": []}',
  },
  { name: "mcpServers", pointer: "/mcpServers", kind: "names", label: "MCP servers", hint: "Names in the operator's registry, with commas between them." },
  {
    name: "fallbacks", pointer: "/source/fallbacks", kind: "names", only: "internal", label: "Fallback models",
    hint: "Are asked in this order where the one before fails, with commas between them.",
  },
  {
    name: "modelSettings", pointer: "/source/settings", kind: "json", rows: 2, only: "internal", label: "Settings of the model, as JSON",
    hint: "effort, maxOutputTokens, temperature, seed, parallelToolCalls; GET /models lists what a model takes.", placeholder: '{"effort": "low"}',
  },
  { name: "metadata", pointer: "/metadata", kind: "pairs", rows: 3, label: "Metadata", hint: "One name=value on each line.", placeholder: "ticket=OPS-1234" },
  {
    name: "outputSchema", pointer: "/outputSchema", kind: "json", rows: 4, label: "Output schema, as JSON",
    hint: "The final message must be JSON that fits it.", placeholder: '{"type": "object"}',
  },
  {
    name: "further", pointer: null, kind: "json", rows: 4, label: "Further members, as JSON",
    hint: "Whatever else POST /executions takes: policy, secrets, contextFrom, runbookId and so on.", placeholder: '{"policy": {"unattended": true}}',
  },
];

const byName = new Map(fields.map((field) => [field.name, field]));

/** The field of a name. */
export function field(name) {
  return byName.get(name);
}
