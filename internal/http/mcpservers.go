package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/mcp"
)

// MCPServers is the registry of MCP servers, as one tenant may see it.
type MCPServers interface {
	MCPServers(tenant domain.TenantID) []mcp.ServerStatus
	// MCPServer returns one server; false: the tenant has none of this name. With probe, the server is asked for its tools and prompts where nobody has
	// asked for a while.
	MCPServer(ctx context.Context, tenant domain.TenantID, name string, probe bool) (status mcp.ServerStatus, known bool)
	// RenderMCPPrompt has a server fill in one of its prompts; see [mcp.Manager.Render].
	RenderMCPPrompt(ctx context.Context, tenant domain.TenantID, server, prompt string, arguments map[string]string) (mcp.Rendered, error)
}

// listMCPServers leaves out the schemas of tools and the prompts: a server may have 256 KiB of the former, and 1 MiB of the latter.
func (h registryHandlers) listMCPServers(ctx context.Context, _ struct{}) (responder, error) {
	page := api.McpServerPage{Items: mapped(h.servers.MCPServers(principalOf(ctx).Tenant), h.shownServer)}
	for s, server := range page.Items {
		page.Items[s].Prompts = nil
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
	if prompts := mapped(s.Prompts, h.shownPrompt); len(prompts) > 0 {
		shown.Prompts = &prompts
	}
	if s.PromptsError != "" {
		shown.PromptsError = said(s.PromptsError)
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

func (h registryHandlers) shownPrompt(p mcp.Prompt) api.McpPrompt {
	mask := h.masker.MaskString
	return api.McpPrompt{
		Name: mask(p.Name), Title: mask(p.Title), Description: mask(p.Description),
		Arguments: mapped(p.Arguments, func(a mcp.PromptArgument) api.McpPromptArgument {
			return api.McpPromptArgument{Name: mask(a.Name), Title: mask(a.Title), Description: mask(a.Description), Required: a.Required}
		}),
	}
}

type renderMCPPrompt struct {
	Name   string `path:"name"`
	Prompt string `path:"prompt"`
	Body   api.RenderMcpPrompt
}

// renderMCPPrompt says nothing of servers to a key that may not use them.
func (h registryHandlers) renderMCPPrompt(ctx context.Context, request renderMCPPrompt) (responder, error) {
	principal := principalOf(ctx)
	if !principal.MayUseMCP(request.Name) {
		return nil, domain.Errorf(domain.CodeForbidden, "The key lacks the scope %s, or %s:NAME of this server.", keys.MCPUse, keys.MCPUse)
	}
	var arguments map[string]string
	if request.Body.Arguments != nil {
		arguments = *request.Body.Arguments
	}
	rendered, err := h.servers.RenderMCPPrompt(ctx, principal.Tenant, request.Name, request.Prompt, arguments)
	if err != nil {
		return nil, err
	}
	return okJSON(api.RenderedMcpPrompt{
		Description: h.masker.MaskString(rendered.Description),
		Messages: mapped(rendered.Messages, func(m mcp.PromptMessage) api.InputMessage {
			return api.InputMessage{Role: m.Role, Content: h.masker.MaskString(m.Content)}
		}),
	}), nil
}
