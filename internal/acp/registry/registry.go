package registry

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
)

// Registry knows the external agents and opens them. Its methods may be called at once from several goroutines.
type Registry struct {
	config  Config
	agents  map[string]*agent         // by canonical name
	probes  map[string]*probe[string] // for the versions
	offers  map[string]*probe[offered]
	ctx     context.Context // of the probes
	cancel  context.CancelFunc
	probing sync.WaitGroup
}

// New checks config. It starts nothing and makes no folder.
func New(config Config) (*Registry, error) {
	config.Logger = cmp.Or(config.Logger, slog.Default())
	config.MCPServers = cmp.Or(config.MCPServers, &mcp.Catalog{})
	home := HomeShared
	if config.PrivateHomes {
		home = HomePrivate
	}
	all, err := mergeAgents(config.Agents, home)
	if err != nil {
		return nil, err
	}
	if config.DataDir, err = filepath.Abs(config.DataDir); err != nil {
		return nil, err
	}
	r := &Registry{config: config, agents: all, probes: map[string]*probe[string]{}, offers: map[string]*probe[offered]{}}
	for _, agent := range r.sorted() {
		if err := agent.judgeBypasses(config.Lookup, config.Logger); err != nil {
			return nil, err
		}
		if err := r.checkEnvironment(agent); err != nil {
			return nil, err
		}
		agent.warnOfOwnMode(config.Logger)
		r.probes[agent.name], r.offers[agent.name] = &probe[string]{}, &probe[offered]{}
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Close ends what is being asked for. Agents that are open are not its own.
func (r *Registry) Close() {
	r.cancel()
	r.probing.Wait()
}

func (r *Registry) sorted() []*agent {
	return slices.SortedFunc(maps.Values(r.agents), func(a, b *agent) int { return strings.Compare(a.name, b.name) })
}

// Names lists the agents, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, agent := range r.sorted() {
		names = append(names, agent.name)
	}
	return names
}

// Resolve returns the registered name of what a request wants to be run: an agent's name in any spelling, or its program
// as the registry has it, by path or base name. Arguments are those of the registry word for word, or none. A
// request never decides what is run.
func (r *Registry) Resolve(command string, args []string) (string, error) {
	if agent := r.agents[canonical(command)]; agent != nil {
		if len(args) > 0 && !slices.Equal(args, agent.Args) {
			return "", unknown("/source/args", "Agent %q is not run with these arguments; its own are in the registry, so leave "+
				"them out.", agent.name)
		}
		return agent.name, nil
	}
	var found []string
	for _, agent := range r.sorted() {
		if r.runs(agent, command) && (len(args) == 0 || slices.Equal(args, agent.Args)) {
			found = append(found, agent.name)
		}
	}
	if len(found) != 1 {
		return "", unknown("/source/command", "There is no agent %q; %s", command, launch.ListNames(r.Names()))
	}
	return found[0], nil
}

// runs tells whether command is the program of the configuration.
func (r *Registry) runs(agent *agent, command string) bool {
	return command == agent.Command || command == filepath.Base(agent.Command) ||
		filepath.IsAbs(command) && command == r.findProgram(agent.Command)
}

func unknown(pointer, format string, args ...any) error {
	e := domain.Errorf(domain.CodeUnknownAgent, format, args...)
	e.Details = []domain.Detail{{Pointer: pointer, Message: e.Message}}
	return e
}

// offered is what is known of an agent's offers. They stay while a later probe fails.
type offered struct {
	offers  *settings.Offers
	failure *domain.Failure // of the last probe; nil: it went well
}

// findProgram looks for the program of an agent. It is empty where there is none.
func (r *Registry) findProgram(command string) string {
	return launch.FindProgram(command, r.config.Lookup)
}
