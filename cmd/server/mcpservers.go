package main

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/llm"
	"signoff/internal/mcp"
	"signoff/internal/secrets"
)

// mcpServer is an entry of the section mcpServers.
type mcpServer struct {
	Tenants             []domain.TenantID `yaml:"tenants"` // without it all
	Required            bool              `yaml:"required"`
	TrustHints          bool              `yaml:"trustHints"`
	Pin                 string            `yaml:"pin"` // off, or nothing
	StartTimeoutSeconds *int              `yaml:"startTimeoutSeconds"`
	CallTimeoutSeconds  *int              `yaml:"callTimeoutSeconds"`

	Command     string            `yaml:"command"`
	Args        []string          `yaml:"args"`
	Env         []string          `yaml:"env"`
	SetEnv      map[string]string `yaml:"setEnv"`
	Secrets     []string          `yaml:"secrets"`     // names in the section secrets
	Environment string            `yaml:"environment"` // that the program runs in; without it that of the execution
	Mounts      map[string]string `yaml:"mounts"`      // path → read or write
	Hosts       []string          `yaml:"hosts"`
	KeepRunning bool              `yaml:"keepRunning"`

	URL        string            `yaml:"url"`
	Transport  string            `yaml:"transport"`
	HeadersEnv map[string]string `yaml:"headersEnv"`
	BearerEnv  string            `yaml:"bearerEnv"`
	OAuth      *mcpOAuth         `yaml:"oauth"`
}

// mcpOAuth says how Signoff signs in to a server with a URL.
type mcpOAuth struct {
	Grant             string   `yaml:"grant"`
	ClientID          string   `yaml:"clientId"`
	ClientSecretEnv   string   `yaml:"clientSecretEnv"`
	ClientMetadataURL string   `yaml:"clientMetadataUrl"`
	Issuer            string   `yaml:"issuer"`
	Scopes            []string `yaml:"scopes"`
}

// openMCPServers reads the servers that executions may use.
func (f configFile) openMCPServers() (*mcp.Catalog, error) {
	servers := map[string]mcp.Server{}
	for name, entry := range f.MCPServers {
		server, err := f.mcpServer(name, entry)
		if err != nil {
			return nil, f.mistake(err)
		}
		servers[name] = server
	}
	catalog, err := mcp.NewCatalog(servers, os.LookupEnv)
	if err != nil {
		return nil, f.mistake(err)
	}
	return catalog, nil
}

func (f configFile) mcpServer(name string, entry mcpServer) (server mcp.Server, err error) {
	place := domain.Pointer("mcpServers", name)
	server = mcp.Server{
		Tenants: entry.Tenants, Required: entry.Required, TrustHints: entry.TrustHints, PinOff: entry.Pin == "off",
		Command: entry.Command, Args: entry.Args, Env: entry.Env, SetEnv: entry.SetEnv,
		Environment: entry.Environment, Mounts: entry.Mounts, Hosts: entry.Hosts, KeepRunning: entry.KeepRunning,
		URL: entry.URL, Transport: entry.Transport, HeadersEnv: entry.HeadersEnv, BearerEnv: entry.BearerEnv,
	}
	if entry.Pin != "" && entry.Pin != "off" {
		return server, domain.Invalid(place+"/pin", "it is off, or the field is left out; %q is neither", entry.Pin)
	}
	if server.StartTimeout, err = seconds(entry.StartTimeoutSeconds, place+"/startTimeoutSeconds"); err != nil {
		return server, err
	}
	if server.CallTimeout, err = seconds(entry.CallTimeoutSeconds, place+"/callTimeoutSeconds"); err != nil {
		return server, err
	}
	if o := entry.OAuth; o != nil {
		server.OAuth = &mcp.OAuth{
			Grant: o.Grant, ClientID: o.ClientID, ClientSecretEnv: o.ClientSecretEnv, ClientMetadata: o.ClientMetadataURL, Issuer: o.Issuer, Scopes: o.Scopes,
		}
	}
	server.SecretEnv, err = f.secretVariables(place+"/secrets/", entry.Secrets)
	return server, err
}

// secretVariables are the variables of named secrets, each with the variable of Signoff that holds its value.
func (f configFile) secretVariables(place string, names []string) (variables map[string]string, err error) {
	named, err := f.namedSecrets()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		at := slices.IndexFunc(named, func(s secrets.Secret) bool { return s.Name == name })
		if at < 0 {
			return nil, domain.Invalid(place+strconv.Itoa(i), "there is no secret %q; %s", name, launch.ListNames(slices.Collect(maps.Keys(f.Secrets))))
		}
		if variables == nil {
			variables = map[string]string{}
		}
		variables[named[at].Variable] = named[at].From
	}
	return variables, nil
}

// mcpServers shows the servers to admission.
type mcpServers struct{ *mcp.Catalog }

var _ admission.MCPServers = mcpServers{}

// Names implements [admission.MCPServers].
func (s mcpServers) Names(tenant domain.TenantID) []string {
	return slices.Sorted(maps.Keys(s.Of(tenant)))
}

// mcpSessions opens the servers of executions for our own agent.
type mcpSessions struct{ *mcp.Manager }

var _ llm.Servers = mcpSessions{}

// Open implements [llm.Servers].
func (s mcpSessions) Open(use mcp.Use, names []string, report func(domain.AgentMCPServerUpdated)) (llm.Session, error) {
	session, err := s.Manager.Open(use, names, report)
	if err != nil {
		return nil, err
	}
	return session, nil
}
