// Package wire is the connection to an agent: JSON-RPC over the pipes of a process.
//
// # The model
//
// A [Peer] is one connection. It calls the agent, and gives a [Handler] what the agent sends by itself. Inside, from the pipe to the
// handler:
//
//	line      cuts the agent's output into lines, at most 8 MiB of memory each
//	envelope  reads one JSON-RPC message, its parts as they were written
//	flow      keeps the order, the limits and the end, in both directions
//	the SDK   numbers calls and hands their answers out
//
// A message that cannot be handed on becomes a [ProtocolError], and whoever waits for it gets an error. What can be handed on is read
// leniently, as an [Object].
//
// # Promises
//
//   - The handler hears of notifications in the order of the wire, one after the other. A request is handled after all
//     notifications before it, and an answer is handed out after them.
//   - Nothing that has arrived is lost when the process ends: first the answers are handed out, then the connection ends.
//   - The agent waits while the handler is slow: at most 256 notifications and 32 MiB of them are in between.
//   - At most 256 requests of the agent are open. One more is refused, not delayed.
//   - An agent that does not read its input for ten seconds is given up, unless the handler has held it up in its writing.
//   - Nothing that an agent writes ends the connection, and nothing that it writes is logged.
//   - When [Peer.Done] is closed and the handler has returned, no goroutine of the peer is left.
//
// All methods of a Peer may be called at once from several goroutines.
package wire
