package main

import (
	"context"
	"os"
	"time"

	"signoff/internal/acp/registry"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/http"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// openMCPServers reads the servers that agents may be given.
func (f configFile) openMCPServers() (*mcp.Catalog, error) {
	servers := map[string]mcp.Server{}
	for name, entry := range f.MCPServers {
		servers[name] = mcp.Server{
			Command: entry.Command, Args: entry.Args, Env: entry.Env, SetEnv: entry.SetEnv,
			URL: entry.URL, Transport: entry.Transport, HeadersEnv: entry.HeadersEnv,
		}
	}
	catalog, err := mcp.NewCatalog(servers, os.LookupEnv)
	if err != nil {
		return nil, f.mistake(err)
	}
	return catalog, nil
}

// openAgents opens the registry of external agents. It reads the environment when an agent starts, and only for the programs that the file and
// the table of built-in agents name.
func (f configFile) openAgents(
	config Config, servers *mcp.Catalog, known *environments.Catalog, starter *sandbox.Sandbox, masker *secrets.Masker,
) (*registry.Registry, error) {
	c := registry.Config{
		Agents: map[string]registry.AgentConfig{}, MCPServers: servers,
		Lookup: os.LookupEnv, DataDir: config.DataDir, PrivateHomes: !config.ownersOnly(), Starter: starter, Masker: masker, Version: version,
	}
	if known != nil {
		c.Environments = known
	}
	for name, entry := range f.Agents {
		config, err := entry.config(name)
		if err != nil {
			return nil, f.mistake(err)
		}
		c.Agents[name] = config
	}
	agents, err := registry.New(c)
	if err != nil {
		return nil, f.mistake(err)
	}
	return agents, nil
}

func (a agent) config(name string) (config registry.AgentConfig, err error) {
	config = registry.AgentConfig{
		Off: a.Enabled != nil && !*a.Enabled, Command: a.Command, Args: a.Args, Env: a.Env, SetEnv: a.SetEnv,
		Description: a.Description, Mode: a.Mode, Model: a.Model, FileSystem: a.FileSystem, Terminal: a.Terminal, Home: a.Home,
		AllowBypass: a.AllowBypass, Environment: a.Environment, Hosts: a.Hosts,
	}
	if config.SilentAfter, err = seconds(a.SilentAfterSeconds, "/agents/"+name+"/silentAfterSeconds"); err != nil {
		return config, err
	}
	config.StartTimeout, err = seconds(a.StartTimeoutSeconds, "/agents/"+name+"/startTimeoutSeconds")
	return config, err
}

// seconds is 0 without a value.
func seconds(given *int, place string) (time.Duration, error) {
	if given == nil {
		return 0, nil
	}
	if *given < 1 || *given > 3600 {
		return 0, domain.Invalid(place, "it is 1 to 3600 seconds, not %d", *given)
	}
	return time.Duration(*given) * time.Second, nil
}

// ownersOnly reports whether the server serves one person, on their machine. Their agents then use the credentials in their home; a server
// for others must not lend them.
func (c Config) ownersOnly() bool { return c.loopback() && c.DatabaseURL == "" }

// agents shows the external agents to clients.
type agents struct{ *registry.Registry }

var (
	_ http.Agents      = agents{}
	_ admission.Agents = agents{}
)

// Agents lists the agents, without secrets.
func (a agents) Agents(ctx context.Context) []http.AgentInfo {
	var infos []http.AgentInfo
	for _, info := range a.Registry.Agents(ctx) {
		infos = append(infos, shownAgent(info))
	}
	return infos
}

// Agent shows one.
func (a agents) Agent(ctx context.Context, name string, probe bool) (http.AgentDetails, bool) {
	found, known := a.Registry.Agent(ctx, name, probe)
	details := http.AgentDetails{AgentInfo: shownAgent(found.AgentInfo), Probing: found.Probing, Failure: found.Failure}
	if offers := found.Offers; offers != nil {
		details.Offers = &http.AgentOffers{Options: offers.Options, MediaTypes: offers.Takes.MediaTypes(), Version: offers.Version, At: offers.At}
	}
	return details, known
}

func shownAgent(info registry.AgentInfo) http.AgentInfo {
	return http.AgentInfo{
		Name: info.Name, Description: info.Description, Available: info.Available, Reason: info.Reason,
		Version: info.Version, Mode: info.Mode, Environment: info.Environment,
	}
}
