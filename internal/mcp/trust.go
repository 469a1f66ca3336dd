package mcp

import "signoff/internal/domain"

// Trust is how far the operator trusts what a server says of its tools; the zero value for a server that is not here.
func (c *Catalog) Trust(name string) domain.MCPTrust {
	server := c.servers[name]
	return domain.MCPTrust{PinOff: server.PinOff, Hints: server.TrustHints}
}
