package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"signoff/internal/acp"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

// Registry knows the external agents and opens them. Its methods may be called at once from several goroutines.
type Registry struct {
	config  Config
	agents  map[string]*agent // by canonical name
	servers *mcp.Catalog
	probes  map[string]*probe[string] // for the versions
	offers  map[string]*probe[offered]
	ctx     context.Context // of the probes
	cancel  context.CancelFunc
	probing sync.WaitGroup
}

// New checks config. It starts nothing and makes no folder.
func New(config Config) (*Registry, error) {
	config.Logger = cmp.Or(config.Logger, slog.Default())
	home := HomeShared
	if config.PrivateHomes {
		home = HomePrivate
	}
	all, err := mergeAgents(config.Agents, home)
	if err != nil {
		return nil, err
	}
	servers, err := mcp.NewCatalog(config.MCPServers, config.Lookup)
	if err != nil {
		return nil, err
	}
	if config.DataDir, err = filepath.Abs(config.DataDir); err != nil {
		return nil, err
	}
	r := &Registry{config: config, agents: all, servers: servers, probes: map[string]*probe[string]{}, offers: map[string]*probe[offered]{}}
	for _, agent := range r.sorted() {
		if err := agent.judgeBypasses(config.Lookup, config.Logger); err != nil {
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

// MCPServers tells whether all names are in the registry.
func (r *Registry) MCPServers(names []string) error {
	_, err := r.servers.Choose(names)
	return err
}

// Open starts the agent of an execution. Whatever stands in its request has been through Resolve and MCPServers, maybe
// by a server with another registry: all of it is looked at again.
func (r *Registry) Open(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
	source := opening.Execution.Request.Source
	agent := r.agents[canonical(source.Command)]
	if agent == nil {
		return nil, unknown("/source/command", "There is no agent %q; %s", source.Command, launch.ListNames(r.Names()))
	}
	selections := append(agent.selections(), settings.SourceSelections(source)...)
	for i, options := range opening.Options {
		selections = append(selections, settings.Selections(options, "/options", settings.LevelPrompts+i)...)
	}
	if err := agent.checkWords(selections); err != nil {
		return nil, err
	}
	l, err := r.launch(agent, opening.Execution.Request)
	if err != nil {
		return nil, err
	}
	l.Selections = selections
	l.Offered = func(offers settings.Offers) { r.learnOffers(agent, l.Process.Argv[0], offers) }
	return acp.Open(ctx, l, opening)
}

// selections are those of the registry, for an execution that does not say otherwise.
func (a *agent) selections() (all []settings.Selection) {
	for _, said := range []struct{ option, value string }{{settings.CategoryMode, a.mode()}, {settings.CategoryModel, a.Model}} {
		if said.value != "" {
			all = append(all, settings.Selection{Option: said.option, Value: said.value, Pointer: "/source/" + said.option, Level: settings.LevelRegistry})
		}
	}
	return all
}

// Check tells whether an execution may have this source, as far as that is known without starting its agent, whose name
// is resolved: its program is there, and what the request selects is no mode that asks nobody, and is offered where the
// offers are known.
func (r *Registry) Check(source domain.Source) error {
	if err := r.Installed(source.Command); err != nil {
		return err
	}
	agent := r.agents[canonical(source.Command)]
	selections := settings.SourceSelections(source)
	if _, err := (&settings.Settings{}).Effective(selections); err != nil {
		return err
	}
	if err := agent.checkWords(selections); err != nil {
		return err
	}
	if offers := r.knownOffers(agent); offers != nil {
		return agent.checkOffered(slices.Concat(agent.selections(), selections), offers.Options)
	}
	return nil
}

// CheckOptions tells whether a further prompt may set options of the agent of an execution, which has offered these; nil: it has
// not said, and then what is known of it without the execution counts.
func (r *Registry) CheckOptions(source domain.Source, options map[string]string, offered []domain.AgentOption) error {
	agent := r.agents[canonical(source.Command)]
	if agent == nil {
		return nil // the execution is of a server with another registry
	}
	selections := settings.Selections(options, "/options", settings.LevelPrompts)
	if err := agent.checkWords(selections); err != nil {
		return err
	}
	if offered != nil {
		return agent.checkOffered(selections, offered)
	}
	if offers := r.knownOffers(agent); offers != nil {
		return agent.checkOffered(slices.Concat(agent.selections(), settings.SourceSelections(source), selections), offers.Options)
	}
	return nil
}

// Installed is [domain.CodeAgentUnavailable] where the program of a registered agent is not there; the message says how
// to install it, where that is known.
func (r *Registry) Installed(name string) error {
	if agent := r.agents[canonical(name)]; agent != nil {
		return r.installed(agent)
	}
	return unknown("/source/command", "There is no agent %q; %s", name, launch.ListNames(r.Names()))
}

func (r *Registry) installed(agent *agent) error {
	if r.findProgram(agent.Command) != "" {
		return nil
	}
	return domain.Errorf(domain.CodeAgentUnavailable, "Agent %q cannot be started. %s", agent.name, agent.notInstalled())
}

// launch gathers what the agent is started with.
func (r *Registry) launch(agent *agent, request domain.Request) (acp.Config, error) {
	if err := r.installed(agent); err != nil {
		return acp.Config{}, err
	}
	program := r.findProgram(agent.Command)
	chosen, err := r.servers.Choose(request.MCPServers)
	if err != nil {
		return acp.Config{}, err
	}
	var withheld []string
	if request.Capabilities.Of(domain.ClassMCP) == domain.Deny { // most agents do not ask before they use a tool of theirs
		withheld, chosen = slices.Sorted(maps.Keys(chosen)), nil
	}
	servers, err := r.servers.Resolve(chosen)
	if err != nil {
		return acp.Config{}, err
	}
	home, err := r.prepareHome(agent)
	if err != nil {
		return acp.Config{}, err
	}
	env := r.environment(agent, home)
	folder, err := r.writeGuard(agent, env, len(servers) > 0)
	if err != nil {
		return acp.Config{}, err
	}
	return acp.Config{
		Name: agent.name,
		Process: sandbox.Process{
			Argv: append([]string{program}, agent.Args...),
			Dir:  cmp.Or(folder, request.WorkingDirectory),
			Env:  lines(env),
		},
		Starter: r.config.Starter,
		Judge:   agent.judge,
		Files:   agent.FileSystem, Terminals: agent.Terminal,
		McpServers:  servers,
		Withheld:    withheld,
		Meta:        json.RawMessage(agent.meta),
		AuthMethods: agent.usableAuthMethods(env),
		SilentAfter: agent.SilentAfter, StartTimeout: agent.StartTimeout,
		Mask:          r.masker(agent, chosen).Mask,
		Masker:        r.config.Masker,
		ClientVersion: r.config.Version,
	}, nil
}

// usableAuthMethods are the ways to sign in that the agent has a key for.
func (a *agent) usableAuthMethods(env map[string]string) (methods []string) {
	for _, way := range a.authMethods {
		if env[way.variable] != "" {
			methods = append(methods, way.method)
		}
	}
	return methods
}
