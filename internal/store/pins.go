package store

import (
	"context"
	"database/sql"
	"errors"

	"signoff/internal/domain"
)

// MCPPin returns the pin of the tool of an MCP server; nil if nobody of the tenant has said yes to the tool.
func (s *Store) MCPPin(ctx context.Context, tenant domain.TenantID, server, tool string) (*domain.MCPPin, error) {
	pin, err := one(ctx, s.read, scanPin, `
		select tenant_id, server, tool, hash, definition, first_us, last_us, by from mcp_pins
		where tenant_id = $1 and server = $2 and tool = $3`, text(string(tenant)), text(server), text(tool))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // no pin is an answer
	case err != nil:
		return nil, s.found(err, "pin of an MCP tool")
	}
	return &pin, nil
}

func scanPin(row scanner) (domain.MCPPin, error) {
	var (
		pin         domain.MCPPin
		definition  sql.NullString
		first, last int64
		by          string
	)
	if err := row.Scan(&pin.Tenant, &pin.Server, &pin.Tool, &pin.Hash, &definition, &first, &last, &by); err != nil {
		return pin, err
	}
	pin.Definition, pin.First, pin.Last = rawJSON(definition.String), timeOf(first), timeOf(last)
	return pin, decode("by", by, &pin.By)
}
