package sessions

import (
	"context"
	"io"

	"signoff/internal/domain"
)

// Guide tells models what the commands and file tools of an execution see, and what they were refused. Package environments has it.
type Guide interface {
	// Describe is the part of the system prompt about an environment. Why that cannot be had is the argument unavailable; nil where it can.
	Describe(ctx context.Context, e domain.Environment, dir string, unavailable error) string
	// Path says why a path was refused; empty where the environment is no reason. It never tells whether the path exists.
	Path(e domain.Environment, dir, path string, write bool) string
	// Reader takes the output of a command that was granted the hosts.
	Reader(e domain.Environment, dir string, hosts []string) OutputReader
}

// OutputReader looks through the output of a command.
type OutputReader interface {
	io.Writer
	// Notes returns a sentence for each thing that the command was refused. The command has ended.
	Notes() []string
}
