package mcp

import (
	"context"
	"io"

	"signoff/internal/domain"
)

// Use is an execution that uses servers.
type Use struct {
	Tenant      domain.TenantID
	Execution   domain.ExecutionID
	Environment domain.Environment // what the execution sees of the machine
	Directory   string             // its working directory
}

// Programs starts the programs of servers that are spoken to over their standard streams.
type Programs interface {
	// Start returns when the program runs. The end of ctx ends the starting, and nothing later. A program that cannot be started is
	// [domain.CodeAgentUnavailable] that says why; then nothing is left of it.
	Start(ctx context.Context, name string, server Server, use Use) (Program, error)
}

// Program is the running program of a server. Read is its standard output, Write its standard input.
type Program interface {
	io.ReadWriteCloser // Close ends the program and all that it has started, and returns when nothing is left of it: five seconds at most

	// Done is closed when the program and all that it has started are dead.
	Done() <-chan struct{}

	// Failure says, once Done is closed, how the program ended, with the last lines of its standard error, without secrets.
	Failure() error
}
