// Package mcp knows the tool servers of the Model Context Protocol that executions may use.
//
// A [Server] is the operator's configuration of one. A [Catalog] holds all of them: it refuses those that cannot work when
// Signoff starts, chooses those that a request names, and resolves them into [Endpoint] values when an agent starts: programs are looked
// for, and variables are filled in from Signoff's own environment. Resolved values hold secrets, and are not kept.
package mcp
