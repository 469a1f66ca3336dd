package main

import (
	"os"

	"signoff/internal/environments"
	"signoff/internal/mcp"
	"signoff/internal/mcp/program"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/workspace"
)

// openMCPPrograms checks the isolation of the MCP servers that are programs, and returns what starts them.
func (f configFile) openMCPPrograms(
	servers *mcp.Catalog, known *environments.Catalog, box *sandbox.Sandbox, masker *secrets.Masker, roots []workspace.Root,
) (*program.Programs, error) {
	config := program.Config{Servers: servers, Environments: known, Sandbox: box, Lookup: os.LookupEnv, Masker: masker}
	for _, root := range roots {
		config.Workspaces = append(config.Workspaces, root.Path)
	}
	programs, err := program.New(config)
	if err != nil {
		return nil, f.mistake(err)
	}
	return programs, nil
}
