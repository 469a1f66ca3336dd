// Package mcptools gives the internal agent the tools of MCP servers.
//
// # The model
//
// A [Session] is the MCP servers of one execution, as package mcp holds them. [New] makes a [Set] of the tools that its servers have at this moment: each
// becomes a [tools.Tool] with a name that every model takes, mcp__SERVER__TOOL. A set never changes; when a server's list does, there is a new one.
//
// With more than [MostAtOnce] tools, the model is shown those that it has asked for: [Search] finds them by words, and [Set.Shown] reads in the
// conversation what was found and called, so that a restart shows the same. [Resources] and [Read] list and read what servers have beside tools.
//
// # Promises
//
//   - A name depends on its server and its tool alone, as long as no other tool has it. The log has the true pair.
//   - The model gets the input schema as the server sent it. Descriptions and results say whose they are, and that they are no instructions.
//   - Arguments are one JSON object without a doubled member. They fit the input schema, if that can be compiled.
//   - A call is sent with the definition that was allowed. If the server has another one by then, nothing is sent.
//   - A call of unknown outcome says so, and is not sent again.
//   - What is given to the model, and to people, is masked before it is cut.
package mcptools
