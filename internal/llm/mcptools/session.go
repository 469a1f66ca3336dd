package mcptools

import (
	"context"

	"signoff/internal/mcp"
)

// Session is the MCP servers of one execution. Its methods may be called at once from several goroutines.
type Session interface {
	// Call makes one request to a tool. Errors are those of [mcp.Session.Call].
	Call(ctx context.Context, call mcp.Call) (mcp.Answer, error)

	// Resources lists what a server has to read; Read reads one of them.
	Resources(ctx context.Context, server string) ([]mcp.Resource, error)
	Read(ctx context.Context, server, uri string) (mcp.Result, error)

	// Prompts lists the prompts of a server; Prompt returns the text of one.
	Prompts(ctx context.Context, server string) ([]mcp.Prompt, error)
	Prompt(ctx context.Context, server, name string, arguments map[string]string) (string, error)

	// Restarted returns the servers whose program was started again, and has lost its memory, since the last call of Restarted.
	Restarted() []string
}
