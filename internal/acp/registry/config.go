package registry

import (
	"log/slog"
	"strings"
	"time"

	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// Config says which agents there are. cmd/server reads it from file and environment; this package reads
// neither.
type Config struct {
	Agents     map[string]AgentConfig // over the built-in agents, see builtin.go
	MCPServers *mcp.Catalog           // that agents may be given; nil: there are none

	Environments Environments // that agents may run in; nil: there are none

	Lookup       func(name string) (value string, set bool) // the server's environment
	DataDir      string                                     // private homes lie in there
	PrivateHomes bool                                       // what AgentConfig.Home is where that does not say
	Starter      *sandbox.Sandbox
	Masker       *secrets.Masker // of the server's secrets; what an agent was given is masked besides. nil: there are none
	Version      string          // of Signoff, which introduces itself to agents
	Logger       *slog.Logger    // nil = slog.Default()
}

// AgentConfig is one agent as its operator describes it. What it leaves out is taken from the built-in agent of the same name.
type AgentConfig struct {
	Off         bool              // not to be used, as if it were not there
	Command     string            // a name on the server's PATH, or an absolute path
	Args        []string          // nil: not said
	Env         []string          // names of variables that are passed on from the server; nil: not said
	SetEnv      map[string]string // added to those of the built-in agent
	Description string
	Mode        *string  // the agent's mode in which it asks people; nil: not said; empty: none is set
	Model       string   // empty: the agent's own default
	FileSystem  bool     // it reads and writes files through Signoff
	Terminal    bool     // it runs commands through Signoff
	Home        string   // [HomePrivate], [HomeShared] or an absolute path
	AllowBypass bool     // it may act without asking
	Environment string   // that it runs in; empty: it is not isolated
	Hosts       []string // of its provider, which it reaches from its environment

	SilentAfter  time.Duration // without a sign of life; 0 = 30 seconds
	StartTimeout time.Duration // 0 = 30 seconds
}

// Homes of agents, beside absolute paths. An agent's sign-in, settings and sessions lie in its home.
const (
	HomePrivate = "private" // a folder of its own in the server's data folder
	HomeShared  = "shared"  // the home of the user that the server runs as
)

// normal is how a name is compared: Claude_Code, claude-code and claudecode are one.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}
