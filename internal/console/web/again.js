// The request that an execution came of, put together from what the API shows of it, to be sent once more by hand.

import { curl } from "./curl.js";
import { choiceOf } from "./environment.js";

const members = [
  "source", "messages", "prompt", "systemPrompt", "instructions", "contextFrom", "outputSchema", "capabilities", "tools", "policy", "safeMode", "memory",
    "runbookId",
  "secrets", "budget", "maxIterations", "timeoutSeconds", "approvalTimeoutSeconds", "retry", "keepOpen", "idleTimeoutSeconds", "retentionDays", "mcpServers",
    "resumeFrom",
  "debug", "workingDirectory", "metadata",
];

/** The body of POST /executions; undefined where the API does not show all of it: blocks, documents and tools of the client are not in its answer. */
function requestOf(execution) {
  if (execution.kind !== "agent" || execution.block) return undefined;
  const body = Object.fromEntries(members.map((name) => [name, execution[name]]).filter(([, value]) => says(value)));
  if (execution.parts) body.prompt = execution.parts.map(partOf);
  return execution.environment ? { ...body, environment: choiceOf(execution.environment) } : body;
}

/** A part of a prompt as it is sent: what the server has found out of its file is left out, and its bytes are not read from the path again. */
function partOf({ type, text, fileId, name }) {
  return fileId ? { type, fileId, name: name || undefined } : { type, text };
}

function says(value) {
  if (value === null || value === undefined || value === "" || value === false) return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The command that starts the same again; where that cannot be said, the one that follows this one. */
export function curlOf(execution) {
  const body = requestOf(execution);
  if (body === undefined) return curl("GET", `/executions/${execution.id}/events`);
  return curl("POST", "/executions", execution.safeMode === false ? { ...body, safeMode: false } : body);
}
