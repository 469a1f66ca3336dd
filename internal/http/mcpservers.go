package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// MCPServers is the registry of MCP servers, as one tenant may see it.
type MCPServers interface {
	MCPServers(tenant domain.TenantID) []mcp.ServerStatus
	// MCPServer returns one server; false: the tenant has none of this name. With probe, the server is asked for its tools where it has not been used
	// for a while.
	MCPServer(ctx context.Context, tenant domain.TenantID, name string, probe bool) (status mcp.ServerStatus, known bool)
}

// listMCPServers leaves out the schemas of tools: a server may have 256 KiB of them.
func (h registryHandlers) listMCPServers(ctx context.Context, _ struct{}) (responder, error) {
	page := api.McpServerPage{Items: mapped(h.servers.MCPServers(principalOf(ctx).Tenant), h.shownServer)}
	for _, server := range page.Items {
		for i := range server.Tools {
			server.Tools[i].InputSchema = nil
		}
	}
	return okJSON(page), nil
}

type getMCPServer struct {
	Name string `path:"name"`
}

// getMCPServer asks the server itself only for a key that may use it: the question starts a program, or signs in with the operator's credentials.
func (h registryHandlers) getMCPServer(ctx context.Context, request getMCPServer) (responder, error) {
	principal := principalOf(ctx)
	found, known := h.servers.MCPServer(ctx, principal.Tenant, request.Name, principal.MayUseMCP(request.Name))
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "There is no such MCP server.")
	}
	return okJSON(h.shownServer(found)), nil
}

// shownServer masks all that the server says: a server was given secrets, and may say them.
func (h registryHandlers) shownServer(s mcp.ServerStatus) api.McpServer {
	said := func(text string) *string { return textOrNull(h.masker.MaskString(text)) }
	shown := api.McpServer{
		Name: s.Name, Transport: api.McpServerTransport(s.Transport), Deprecated: s.Deprecated, Required: s.Required, KeepRunning: s.KeepRunning,
		TrustHints: s.TrustHints, Pinned: !s.PinOff, Status: api.McpServerStatus(s.Status), Version: said(s.Version), Protocol: said(s.Protocol),
		Connections: s.Connected, Tools: mapped(s.Tools, h.shownServerTool), LastError: said(s.LastError),
	}
	if s.LastError != "" {
		shown.FailedAt = new(api.Time(s.Failed))
	}
	return shown
}

func (h registryHandlers) shownServerTool(t mcp.Tool) api.McpServerTool {
	annotations := t.Annotations
	annotations.Title = h.masker.MaskString(annotations.Title)
	return api.McpServerTool{
		Name: h.masker.MaskString(t.Tool), Description: h.masker.MaskString(t.Description), Definition: t.Definition, Annotations: annotations,
		InputSchema: h.masker.JSON(t.InputSchema),
	}
}
