package main

import (
	"context"
	"os"
	"time"

	agentregistry "signoff/internal/acp/registry"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// agent is an entry of the section agents. What it leaves out is the built-in agent's of that name.
type agent struct {
	Enabled             *bool             `yaml:"enabled"`
	Command             string            `yaml:"command"`
	Args                []string          `yaml:"args"`
	Env                 []string          `yaml:"env"`
	SetEnv              map[string]string `yaml:"setEnv"`
	Description         string            `yaml:"description"`
	Mode                *string           `yaml:"mode"`
	Model               string            `yaml:"model"`
	FileSystem          bool              `yaml:"fileSystem"`
	Terminal            bool              `yaml:"terminal"`
	Home                string            `yaml:"home"`
	AllowBypass         bool              `yaml:"allowBypass"`
	SilentAfterSeconds  *int              `yaml:"silentAfterSeconds"`
	StartTimeoutSeconds *int              `yaml:"startTimeoutSeconds"`
}

// mcpServer is an entry of the section mcpServers.
type mcpServer struct {
	Command    string            `yaml:"command"`
	Args       []string          `yaml:"args"`
	Env        []string          `yaml:"env"`
	SetEnv     map[string]string `yaml:"setEnv"`
	URL        string            `yaml:"url"`
	Transport  string            `yaml:"transport"`
	HeadersEnv map[string]string `yaml:"headersEnv"`
}

// openAgents turns the file into the registry of external agents. The environment is looked at when an agent starts, and
// only for the programs that the file and the table of well-known agents name.
func (r registry) openAgents(config Config, starter *sandbox.Sandbox, masker *secrets.Masker) (*agentregistry.Registry, error) {
	c := agentregistry.Config{
		Agents: map[string]agentregistry.AgentConfig{}, MCPServers: map[string]mcp.Server{},
		Lookup: os.LookupEnv, DataDir: config.DataDir, PrivateHomes: !config.ownersOnly(), Starter: starter, Masker: masker, Version: version,
	}
	for name, entry := range r.Agents {
		config, err := entry.config(name)
		if err != nil {
			return nil, r.mistake(err)
		}
		c.Agents[name] = config
	}
	for name, entry := range r.MCPServers {
		c.MCPServers[name] = mcp.Server(entry)
	}
	agents, err := agentregistry.New(c)
	if err != nil {
		return nil, r.mistake(err)
	}
	return agents, nil
}

func (a agent) config(name string) (config agentregistry.AgentConfig, err error) {
	config = agentregistry.AgentConfig{
		Off: a.Enabled != nil && !*a.Enabled, Command: a.Command, Args: a.Args, Env: a.Env, SetEnv: a.SetEnv,
		Description: a.Description, Mode: a.Mode, Model: a.Model, FileSystem: a.FileSystem, Terminal: a.Terminal, Home: a.Home,
		AllowBypass: a.AllowBypass,
	}
	if config.SilentAfter, err = seconds(a.SilentAfterSeconds, "/agents/"+name+"/silentAfterSeconds"); err != nil {
		return config, err
	}
	config.StartTimeout, err = seconds(a.StartTimeoutSeconds, "/agents/"+name+"/startTimeoutSeconds")
	return config, err
}

// seconds is 0 without a value.
func seconds(said *int, place string) (time.Duration, error) {
	if said == nil {
		return 0, nil
	}
	if *said < 1 || *said > 3600 {
		return 0, domain.Invalid(place, "it is 1 to 3600 seconds, not %d", *said)
	}
	return time.Duration(*said) * time.Second, nil
}

// ownersOnly reports whether the server belongs to one person, on their machine. Their agents then use the sign-ins in their home; a
// server for others must not lend one person's sign-ins.
func (c Config) ownersOnly() bool { return c.loopback() && c.DatabaseURL == "" }

// agents shows the registry to clients.
type agents struct{ *agentregistry.Registry }

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
	if found.Offers != nil {
		details.Offers = (*http.AgentOffers)(found.Offers)
	}
	return details, known
}

func shownAgent(info agentregistry.AgentInfo) http.AgentInfo {
	return http.AgentInfo{
		Name: info.Name, Description: info.Description, Available: info.Available, Reason: info.Reason,
		Version: info.Version, Mode: info.Mode,
	}
}
