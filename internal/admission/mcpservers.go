package admission

import (
	"slices"
	"strconv"

	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/launch"
)

// checkMCPServers checks the MCP servers that a request names. One that the key or its tenant may not use is refused as one that does not exist, so that
// nobody learns of it.
func (a *Admission) checkMCPServers(by keys.Principal, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if !by.MayUseSomeMCP() {
		return domain.At("/mcpServers", domain.Errorf(domain.CodeForbidden, "MCP servers take a key with the scope %s.", keys.MCPUse))
	}
	usable := slices.DeleteFunc(slices.Clone(a.config.MCPServers.Names(by.Tenant)), func(name string) bool { return !by.MayUseMCP(name) })
	for i, name := range names {
		if !slices.Contains(usable, name) {
			return domain.At("/mcpServers/"+strconv.Itoa(i), domain.Errorf(domain.CodeUnknownMCPServer, "There is no MCP server %q for this key; %s", name, launch.ListNames(usable)))
		}
	}
	return nil
}

// enabledOfMCPServers reports whether the name of an enabled tool is one of MCP servers. Which tools these have, the execution learns from them.
func (a *Admission) enabledOfMCPServers(request domain.Request, name string) bool {
	return request.Source.Type == domain.SourceInternal && a.config.Tools.OfMCPServers(name, request.MCPServers)
}
