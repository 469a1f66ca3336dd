package mcp

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/launch"
)

// Catalog knows the servers that the operator allows. The zero Catalog has none. Its methods may be called at once from several goroutines.
type Catalog struct {
	servers map[string]Server
	lookup  func(name string) (value string, set bool)
}

// NewCatalog refuses invalid servers, and fills in the defaults of the others. lookup reads the environment of Signoff itself.
func NewCatalog(servers map[string]Server, lookup func(name string) (value string, set bool)) (*Catalog, error) {
	complete := map[string]Server{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if !launch.NameForm.MatchString(name) {
			return nil, domain.Invalid(domain.Pointer("mcpServers", name), "%q cannot be the name of an MCP server: a name begins with a "+
				"letter and has letters, digits, - and _, at most 64", name)
		}
		if err := servers[name].check("/mcpServers/" + name + "/"); err != nil {
			return nil, err
		}
		complete[name] = servers[name].withDefaults()
	}
	return &Catalog{servers: complete, lookup: lookup}, nil
}

// All returns every server by its name.
func (c *Catalog) All() map[string]Server { return maps.Clone(c.servers) }

// Of returns the servers that the tenant may use, by their names.
func (c *Catalog) Of(tenant domain.TenantID) map[string]Server {
	servers := c.All()
	maps.DeleteFunc(servers, func(_ string, server Server) bool { return !server.Serves(tenant) })
	return servers
}

// Server returns one server, whoever may use it.
func (c *Catalog) Server(name string) (server Server, known bool) {
	server, known = c.servers[name]
	return server, known
}

// Choose returns the servers of these names, which an execution of the tenant wants. A name that comes twice counts once. A server of other tenants
// is refused as one that does not exist, so that nobody learns of it.
func (c *Catalog) Choose(tenant domain.TenantID, names []string) (map[string]Server, error) {
	chosen, allowed := map[string]Server{}, c.Of(tenant)
	for i, name := range names {
		server, known := allowed[name]
		if !known {
			e := domain.Errorf(domain.CodeUnknownMCPServer, "There is no MCP server %q; %s", name, launch.ListNames(slices.Collect(maps.Keys(allowed))))
			e.Details = []domain.Detail{{Pointer: "/mcpServers/" + strconv.Itoa(i), Message: e.Message}}
			return nil, e
		}
		chosen[name] = server
	}
	return chosen, nil
}

// Endpoint is a server, with everything that it is started or reached with. It holds secrets.
type Endpoint struct {
	Name      string
	Transport string // stdio, http or sse; empty is stdio
	Command   string // stdio: absolute
	Args      []string
	Env       map[string]string
	URL       string // http, sse
	Headers   map[string]string
}

// IsProgram reports whether the server is a program that is started, and not an address.
func (s Endpoint) IsProgram() bool { return s.Transport == "" || s.Transport == "stdio" }

// Resolve fills in variables of Signoff's own environment. It is called when an agent starts; nothing is kept.
func (c *Catalog) Resolve(servers map[string]Server) ([]Endpoint, error) {
	var all []Endpoint
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		endpoint, err := c.Endpoint(name, servers[name])
		if err != nil {
			return nil, err
		}
		all = append(all, endpoint)
	}
	return all, nil
}

// Endpoint resolves one server. A program or a variable that is missing is [domain.CodeAgentUnavailable].
func (c *Catalog) Endpoint(name string, server Server) (Endpoint, error) {
	if server.IsProgram() {
		return c.program(name, server)
	}
	headers, err := c.values(name, server.HeadersEnv)
	if err != nil {
		return Endpoint{}, err
	}
	if server.BearerEnv != "" {
		token, err := c.values(name, map[string]string{"Authorization": server.BearerEnv})
		if err != nil {
			return Endpoint{}, err
		}
		headers["Authorization"] = "Bearer " + strings.TrimSpace(token["Authorization"])
	}
	return Endpoint{Name: name, Transport: cmp.Or(server.Transport, TransportHTTP), URL: server.URL, Headers: headers}, nil
}

func (c *Catalog) program(name string, server Server) (Endpoint, error) {
	command := launch.FindProgram(server.Command, c.lookup)
	if command == "" {
		return Endpoint{}, domain.Errorf(domain.CodeAgentUnavailable, "The program %q of MCP server %q was not found on the "+
			"server's PATH.", filepath.Base(server.Command), name)
	}
	wanted := map[string]string{}
	for _, variable := range server.Env {
		wanted[variable] = variable
	}
	maps.Copy(wanted, server.SecretEnv)
	env, err := c.values(name, wanted)
	if err != nil {
		return Endpoint{}, err
	}
	maps.Copy(env, server.SetEnv)
	return Endpoint{Name: name, Command: command, Args: server.Args, Env: env}, nil
}

// values looks up the variables of names. Its error names all missing ones.
func (c *Catalog) values(server string, wanted map[string]string) (map[string]string, error) {
	found, missing := map[string]string{}, []string{}
	for name, variable := range wanted {
		if found[name], _ = c.lookup(variable); found[name] == "" {
			missing = append(missing, variable)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, domain.Errorf(domain.CodeAgentUnavailable, "MCP server %q needs variables that the server does not have: %s.",
			server, strings.Join(slices.Compact(missing), ", "))
	}
	return found, nil
}
