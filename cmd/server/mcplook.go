package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/mcp"
)

// shownServers are the MCP servers as people look at them. A program that is asked for its tools or prompts alone runs in the operator's default environment, with
// an empty folder as its workspace.
type shownServers struct {
	manager      *mcp.Manager
	environments *environments.Catalog
}

// MCPServers implements http.MCPServers.
func (s shownServers) MCPServers(tenant domain.TenantID) []mcp.ServerStatus {
	return s.manager.Status(tenant)
}

// MCPServer implements http.MCPServers.
func (s shownServers) MCPServer(ctx context.Context, tenant domain.TenantID, name string, probe bool) (mcp.ServerStatus, bool) {
	if !probe {
		return s.manager.Look(ctx, tenant, name, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	return s.manager.Look(ctx, tenant, name, s.use)
}

// lookPatience is how long somebody waits who looks at a server. A server may take minutes to start.
const lookPatience = 10 * time.Second

// RenderMCPPrompt implements http.MCPServers.
func (s shownServers) RenderMCPPrompt(ctx context.Context, tenant domain.TenantID, server, prompt string, arguments map[string]string) (mcp.Rendered, error) {
	return s.manager.Render(ctx, tenant, server, prompt, arguments, s.use)
}

// use makes a folder for the program, which is removed with everything that the program leaves there.
func (s shownServers) use() (use mcp.Use, cleanup func(), err error) {
	environment, err := s.environments.Choose(domain.EnvironmentChoice{})
	if err != nil {
		return use, nil, err
	}
	folder, err := os.MkdirTemp("", "signoff-probe-")
	if err != nil {
		return use, nil, err
	}
	cleanup = func() { _ = os.RemoveAll(folder) } // a file that stays harms nobody
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		cleanup()
		return use, nil, err
	}
	return mcp.Use{Execution: "probe", Environment: environment, Directory: real}, cleanup, nil
}
