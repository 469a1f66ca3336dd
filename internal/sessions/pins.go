package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// Pins of the tools of MCP servers; see approvals.Policy. A decision on any replica writes them, so they are read for each judgement, and once more
// before a decided call starts.

// readPin reads the pin of the call's tool.
func (r *rules) readPin(c *call) error {
	c.pin = nil
	if c.MCP == nil {
		return nil
	}
	ctx, cancel := r.claim.reading()
	defer cancel()
	pin, err := r.engine.store.MCPPin(ctx, r.execution.Tenant, c.MCP.Server, c.MCP.Tool)
	c.pin = pin
	return err
}

// otherDefinition tells whether a question was about another definition of the call's tool than the one under which the call would run now.
func otherDefinition(c *call, row domain.Approval) bool {
	if row.Kind != domain.ApprovalToolCall || c.MCP == nil && row.Call.MCP == nil {
		return false
	}
	return c.MCP == nil || row.Call.MCP == nil || c.MCP.Definition != row.Call.MCP.Definition
}

// redefined tells whether an approved call must not start: its tool is defined otherwise now, or somebody has approved another definition since.
func (pm *permissions) redefined(c *call, row domain.Approval) bool {
	switch {
	case otherDefinition(c, row):
		return true
	case row.Kind != domain.ApprovalToolCall || c.MCP == nil, pm.engine.servers != nil && pm.engine.servers.Trust(c.MCP.Server).PinOff:
		return false
	default:
		return c.pin == nil || c.pin.Hash != c.MCP.Definition
	}
}

// maskedTool is a tool without secrets: people see its definition. Its hash stays that of the definition as it was sent.
func maskedTool(tool *domain.MCPTool, masker *secrets.Masker) *domain.MCPTool {
	if tool == nil {
		return nil
	}
	masked := *tool
	masked.Canonical, masked.Annotations.Title = masker.JSON(tool.Canonical), masker.MaskString(tool.Annotations.Title)
	return &masked
}
