package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// Config is how one agent is started and spoken to; the registry makes it from what the operator says of the agent.
type Config struct {
	Name          string // in the registry
	Process       sandbox.Process
	Starter       Starter
	Selections    []settings.Selection  // of options, to be set before the first prompt; the others stay as the agent has them
	Offered       func(settings.Offers) // hears what a new session offers; nil: nobody wants to know
	Judge         Judge                 // of each value before it is set; never nil
	Files         bool                  // the agent may use our reading and writing of files, as far as the execution may
	Terminals     bool                  // the same for commands
	MCPServers    []mcp.Endpoint
	ServerEnv     []string            // of the MCP servers of an isolated agent, beside their own variables: they run outside
	Withheld      []string            // names of servers that the request wants and its capabilities deny
	Meta          json.RawMessage     // sent as _meta when a session begins or is resumed
	AuthMethods   []string            // methods to sign in by where the agent wants that first; it has their keys
	SilentAfter   time.Duration       // 0 is 30 s
	StartTimeout  time.Duration       // for the first answer; 0 is 30 s. A session may take twice as long
	Mask          func([]byte) []byte // hides the agent's own secrets in what is kept and shown; nil: there are none
	Masker        *secrets.Masker     // and this one the server's
	ClientVersion string
}

// Judge refuses a value of an option that the agent may not have, such as a mode in which it acts without asking.
type Judge func(wanted settings.Selection, option settings.Option, found domain.AgentChoice) error

// Starter starts processes: *sandbox.Sandbox.
type Starter interface {
	Start(ctx context.Context, process sandbox.Process) (*sandbox.Child, error)
}

func (c Config) helloTimeout() time.Duration { return cmp.Or(c.StartTimeout, 30*time.Second) }

func (c Config) sessionTimeout() time.Duration { return 2 * c.helloTimeout() }

// Masked hides the secrets that the agent was given, and then the server's: an agent that runs as the server's own user
// may come across a file that holds them.
func (c Config) Masked(text []byte) []byte {
	if c.Mask != nil {
		text = c.Mask(text)
	}
	if c.Masker != nil {
		text = c.Masker.Mask(text)
	}
	return text
}
