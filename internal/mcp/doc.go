// Package mcp knows the tool servers of the Model Context Protocol that executions may use.
//
// A [Server] is the operator's configuration of one server. A [Catalog] holds all of them. It refuses invalid ones when Signoff starts, chooses
// those that a request names, and resolves them into [Endpoint] values when an agent starts: it finds programs, and reads variables from
// Signoff's own environment. Resolved values hold secrets and are not kept.
package mcp
