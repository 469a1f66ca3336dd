package mcp

import (
	"cmp"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/launch"
)

// Server is a tool server that agents may be given. It is either a program, spoken to over its standard streams, or
// an address.
type Server struct {
	TrustHints bool // its readOnlyHint counts as the truth
	PinOff     bool // an operator's rule covers a changed definition, too

	Command string
	Args    []string
	Env     []string // names, passed on from the server; each must be set
	SetEnv  map[string]string

	URL        string
	Transport  string            // [TransportHTTP] or [TransportSSE]; empty: HTTP
	HeadersEnv map[string]string // header → the variable that holds its whole value
}

// Transports of MCP servers with a URL.
const (
	TransportHTTP = "http"
	TransportSSE  = "sse"
)

// Catalog knows the servers that the operator allows. The zero Catalog has none. Its methods may be called at once from several goroutines.
type Catalog struct {
	servers map[string]Server
	lookup  func(name string) (value string, set bool)
}

// NewCatalog refuses invalid servers. lookup reads the environment of Signoff itself.
func NewCatalog(servers map[string]Server, lookup func(name string) (value string, set bool)) (*Catalog, error) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if !launch.NameForm.MatchString(name) {
			return nil, domain.Invalid(domain.Pointer("mcpServers", name), "%q cannot be the name of an MCP server: a name begins with a "+
				"letter and has letters, digits, - and _, at most 64", name)
		}
		if err := servers[name].check("/mcpServers/" + name + "/"); err != nil {
			return nil, err
		}
	}
	return &Catalog{servers: servers, lookup: lookup}, nil
}

func (s Server) check(place string) error {
	if (s.Command == "") == (s.URL == "") {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "an MCP server has either a command or a url")
	}
	if s.Command != "" {
		if s.Transport != "" || s.HeadersEnv != nil {
			return domain.Invalid(strings.TrimSuffix(place, "/"), "transport and headersEnv belong to a url, not to a command")
		}
		if err := launch.CheckProgram(place, s.Command, s.Args); err != nil {
			return err
		}
		return launch.CheckVariables(place, s.Env, s.SetEnv)
	}
	if s.Args != nil || s.Env != nil || s.SetEnv != nil {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "args, env and setEnv belong to a command, not to a url")
	}
	return s.checkAddress(place)
}

var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (s Server) checkAddress(place string) error {
	address, err := url.Parse(s.URL)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return domain.Invalid(place+"url", "it is not an http or https address")
	case address.User != nil: // it would appear in logs
		return domain.Invalid(place+"url", "a user in an address is no place for a secret; headersEnv is")
	case s.Transport != "" && s.Transport != TransportHTTP && s.Transport != TransportSSE:
		return domain.Invalid(place+"transport", "it is %s or %s, not %q", TransportHTTP, TransportSSE, s.Transport)
	}
	for _, header := range slices.Sorted(maps.Keys(s.HeadersEnv)) {
		at := place + "headersEnv" + domain.Pointer(header)
		if !headerForm.MatchString(header) {
			return domain.Invalid(at, "%q is not the name of a header", header)
		}
		if err := launch.CheckVariable(at, s.HeadersEnv[header]); err != nil {
			return err
		}
	}
	return nil
}

// Choose returns the servers of these names, which an execution wants. A name that comes twice counts once.
func (c *Catalog) Choose(names []string) (map[string]Server, error) {
	chosen := map[string]Server{}
	for i, name := range names {
		server, known := c.servers[name]
		if !known {
			e := domain.Errorf(domain.CodeUnknownMCPServer, "There is no MCP server %q; %s", name, launch.ListNames(slices.Collect(maps.Keys(c.servers))))
			e.Details = []domain.Detail{{Pointer: "/mcpServers/" + strconv.Itoa(i), Message: e.Message}}
			return nil, e
		}
		chosen[name] = server
	}
	return chosen, nil
}

// Endpoint is a server whose tools an agent uses.
type Endpoint struct {
	Name      string
	Transport string // stdio, http or sse; empty is stdio
	Command   string // stdio: absolute
	Args      []string
	Env       map[string]string
	URL       string // http, sse
	Headers   map[string]string
}

// IsProgram reports whether the server is a program that the agent starts, and not an address.
func (s Endpoint) IsProgram() bool { return s.Transport == "" || s.Transport == "stdio" }

// Resolve fills in variables of this server's environment. It is called when an agent starts; nothing is kept.
func (c *Catalog) Resolve(servers map[string]Server) ([]Endpoint, error) {
	var all []Endpoint
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server := servers[name]
		if server.URL != "" {
			headers, err := c.values(name, server.HeadersEnv)
			if err != nil {
				return nil, err
			}
			transport := cmp.Or(server.Transport, TransportHTTP)
			all = append(all, Endpoint{Name: name, Transport: transport, URL: server.URL, Headers: headers})
			continue
		}
		program, err := c.program(name, server)
		if err != nil {
			return nil, err
		}
		all = append(all, program)
	}
	return all, nil
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
