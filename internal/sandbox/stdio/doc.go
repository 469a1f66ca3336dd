// Package stdio attends to programs that are spoken to over their standard streams: external agents, and the tool servers of MCP. The protocol is for
// others.
//
// A [Program] is a child of package sandbox whose standard error is read and whose end is explained. It is ended in steps, the last of which is a
// kill, within five seconds; nothing that it has started survives that.
package stdio
