// Package mcp speaks to the tool servers of the Model Context Protocol that executions use.
//
// # The model
//
// A [Server] is the operator's configuration of one server. A [Catalog] holds all of them. It refuses invalid ones when Signoff starts, chooses
// those that a request names, and resolves them into [Endpoint] values: it finds programs, and reads variables from Signoff's own environment. Resolved
// values hold secrets and are not kept. External agents are given endpoints, and speak to the servers themselves.
//
// For our own agent, a [Manager] opens a [Session] for each execution. The session connects to a server at the first need: to the standard streams of a
// program that [Programs] starts, or to an address over streamable HTTP or the deprecated SSE transport. The SDK speaks the protocol. A program serves one
// session, and so does a connection over HTTP, because before the revision 2026-07-28 a server keeps the memory of its client with the connection. The
// manager remembers the tools of each server for each tenant.
//
// A [Call] is answered by an [Answer]: a result, or the question of the server. A question of the revision 2026-07-28 has a Repeat: the request has ended, and
// any session of any process goes on with it. A question of an older revision goes to [Call].Ask while the call is open.
//
// # Promises
//
//   - A call is sent once, or not at all. Each error says which: whether nothing was sent, the server has refused, or it may have done it.
//   - A call is sent to a tool whose definition is the one that was allowed, as the very connection that runs it has just listed it.
//   - Everything that is read of a server is bounded in bytes, count, depth and time. A server that misbehaves harms its own calls.
//   - Text of a server has no hidden characters. Everything else is as the server sent it: schemas, numbers, the order of properties.
//   - What a server names leads to public addresses, or to its own private host. Credentials follow no redirect.
//   - After [Session.Close] nothing is left: no process, no connection, no goroutine.
//
// # Use
//
//	manager := mcp.NewManager(mcp.ManagerConfig{Catalog: catalog, Programs: programs, Mask: mask})
//	session, err := manager.Open(mcp.Use{Tenant: tenant, Execution: id}, []string{"github"}, report)
//	defer session.Close()
//	tools, err := session.Tools(ctx) // again when session.Revision() has grown
//	answer, err := session.Call(ctx, mcp.Call{Server: "github", Tool: "create_issue", Definition: tools[0].Definition, Arguments: arguments})
//	if answer.Form != nil { // the server asks; somebody answers, here or in another process
//		answer, err = session.Call(ctx, mcp.Call{…, Repeat: answer.Repeat, Answer: &said})
//	}
//
// # Inside
//
// A link is one server of a session: it connects, counts failures and knows what the session was offered. A connection is one life of it. Package wire has the
// transports; it watches each request, because the SDK does not say whether a failed one may have reached the server, and its decoding loses numbers and order.
package mcp
