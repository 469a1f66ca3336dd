package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

// mcpServers asks each MCP server for its tools, all at once: a program in the default environment, with an empty folder as its workspace. It returns nil
// where the configuration is wrong. A server that an execution can do without is a mistake, too: the operator has named it.
func (d *diagnosis) mcpServers(
	ctx context.Context, config Config, file configFile, known *environments.Catalog, box *sandbox.Sandbox, ask bool,
) *mcp.Catalog {
	servers, err := file.openMCPServers()
	if err != nil {
		d.bad("MCP servers", err)
		return nil
	}
	files, err := file.openWorkspace(config)
	if err != nil || known == nil || box == nil { // said above
		return servers
	}
	programs, err := file.openMCPPrograms(servers, known, box, d.masker, files.Roots())
	if err != nil {
		d.bad("MCP servers", err)
		return servers
	}
	shown := shownServers{mcp.NewManager(mcp.ManagerConfig{Catalog: servers, Programs: programs, Mask: d.masker.MaskString, Version: version}), known}
	names := slices.Sorted(maps.Keys(servers.All()))
	found := make([]mcp.ServerStatus, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		server, _ := servers.Server(name)
		tenant := domain.DefaultTenant
		if server.Tenants != nil {
			tenant = server.Tenants[0]
		}
		use := shown.use
		if !ask || server.OAuth != nil {
			use = nil
		}
		asking.Go(func() { found[i], _ = shown.manager.Look(ctx, tenant, name, use) }) // for as long as the server may take to start
	}
	asking.Wait()
	for i, name := range names {
		server, _ := servers.Server(name)
		d.mcpServer(server, found[i])
	}
	return servers
}

func (d *diagnosis) mcpServer(server mcp.Server, found mcp.ServerStatus) {
	what := "MCP server " + found.Name
	switch {
	case found.Status == mcp.ServerFailed:
		d.bad(what, errors.New(found.LastError))
	case found.Status == mcp.ServerAvailable:
		d.good(what, fmt.Sprintf("%s, tools: %d, protocol %s", cmp.Or(found.Version, "version unknown"), len(found.Tools), found.Protocol))
	case server.OAuth != nil:
		d.note(what, "not asked: it wants a sign-in; `signoff mcp list` shows who is signed in, and GET /mcp-servers whether that works")
	default:
		d.note(what, "not asked")
	}
}
