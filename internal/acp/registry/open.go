package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"signoff/internal/acp"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/sandbox"
)

// Open starts the agent of an execution. Whatever stands in its request has been through Resolve, maybe
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
	l, err := r.launch(agent, opening.Execution)
	if err != nil {
		return nil, err
	}
	l.Selections = selections
	l.Offered = func(offers settings.Offers) {
		r.offers[agent.name].learn(identify(l.Process.Argv[0]), offered{offers: &offers}, offersHold)
	}
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
	if r.findProgram(agent.Command) == "" {
		return domain.Errorf(domain.CodeAgentUnavailable, "Agent %q cannot be started. %s", agent.name, agent.notInstalled())
	}
	if reason := r.notIsolable(agent); reason != "" {
		return environmentUnavailable(agent, reason)
	}
	return nil
}

// launch gathers what the agent is started with.
func (r *Registry) launch(agent *agent, execution domain.Execution) (acp.Config, error) {
	request := execution.Request
	if err := r.installed(agent); err != nil {
		return acp.Config{}, err
	}
	program := r.findProgram(agent.Command)
	chosen, err := r.config.MCPServers.Choose(execution.Tenant, request.MCPServers)
	if err != nil {
		return acp.Config{}, err
	}
	var withheld []string
	if request.Capabilities.Of(domain.ClassMCP) == domain.Deny { // most agents do not ask before they use a tool of theirs
		withheld, chosen = slices.Sorted(maps.Keys(chosen)), nil
	}
	servers, err := r.config.MCPServers.Resolve(chosen)
	if err != nil {
		return acp.Config{}, err
	}
	home, err := r.prepareHome(agent)
	if err != nil {
		return acp.Config{}, err
	}
	process := sandbox.Process{Argv: append([]string{program}, agent.Args...), Dir: request.WorkingDirectory}
	var env map[string]string
	if agent.isolated() {
		env, err = r.isolate(agent, request, &process, home, servers)
	} else {
		env = r.environment(agent, home)
		var folder string
		folder, err = r.writeGuard(agent, env, len(servers) > 0)
		process.Dir = cmp.Or(folder, process.Dir)
	}
	if err != nil {
		return acp.Config{}, err
	}
	process.Env = launch.Lines(env)
	return acp.Config{
		Name:    agent.name,
		Process: process,
		Starter: r.config.Starter,
		Judge:   agent.judge,
		Files:   agent.FileSystem, Terminals: agent.Terminal,
		MCPServers:  servers,
		ServerEnv:   r.serverVariables(),
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
