// A prompt of an MCP server on its way into the form of a new execution. It is handed over in memory, because an address does not hold a long text, and once:
// a draft that somebody has left stays until it is changed.

/** @type {{values: object, from: string} | undefined} */
let handed;

/** Hands a rendered prompt to the form that is opened next. */
export function hand(rendered, server, prompt) {
  handed = { values: formOf(rendered, server), from: `the prompt ${prompt} of the MCP server ${server}` };
}

/** What was handed over: {values, from}; undefined: nothing, or it was taken already. */
export function taken() {
  const now = handed;
  handed = undefined;
  return now;
}

/** The values of the form. One text of the user is the prompt; a conversation has no field of its own. */
export function formOf({ messages }, server) {
  const values = { type: "internal", mcpServers: server };
  if (messages.length === 1 && messages[0].role === "user") return { ...values, prompt: messages[0].content };
  return { ...values, prompt: "", further: JSON.stringify({ messages }, null, 2) };
}
