package registry

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

// An agent whose entry names an environment runs in the sandbox: it sees what a command of that environment sees, has a home of its own, and
// reaches the hosts of its entry beside those of the environment. All others run as the server's user, with all that this user may do.

// Environments is the catalog of environments.
type Environments interface {
	Choose(choice domain.EnvironmentChoice) (domain.Environment, error)
	All() []domain.EnvironmentInfo
}

// isolated reports whether the agent runs in an environment.
func (a *agent) isolated() bool { return a.Environment != "" }

// checkEnvironment refuses an entry whose environment nobody could build, or which would be wider than it seems.
func (r *Registry) checkEnvironment(a *agent) error {
	if !a.isolated() {
		if a.Hosts != nil {
			return domain.Invalid(a.pointer("hosts"), "hosts belongs to an agent with an environment; without one it reaches whatever the server's user may")
		}
		return nil
	}
	info, known := r.environmentInfo(a.Environment)
	switch {
	case !known:
		return domain.Invalid(a.pointer("environment"), "There is no environment %q; %s", a.Environment, r.environmentNames())
	case info.View == domain.ViewHost:
		return domain.Invalid(a.pointer("environment"), "The environment %s has no isolation; leave the field out to run the agent without", a.Environment)
	case a.Home == HomeShared:
		return domain.Invalid(a.pointer("home"), "An agent in an environment has a home of its own: the home of the server's user holds credentials")
	case filepath.IsAbs(a.Home) && (lies(a.Home, r.config.DataDir) || lies(r.config.DataDir, a.Home)):
		return domain.Invalid(a.pointer("home"), "%s holds or is in the server's data folder, which no agent in an environment reads", a.Home)
	}
	return launch.CheckHosts(a.pointer(""), a.Hosts)
}

// lies reports whether path is folder or in it, also behind links.
func lies(path, folder string) bool {
	relative, err := filepath.Rel(launch.Real(folder), launch.Real(path))
	return err == nil && filepath.IsLocal(relative)
}

func (r *Registry) environmentInfo(name string) (info domain.EnvironmentInfo, known bool) {
	if r.config.Environments == nil {
		return info, false
	}
	all := r.config.Environments.All()
	at := slices.IndexFunc(all, func(e domain.EnvironmentInfo) bool { return e.Name == name })
	if at < 0 {
		return info, false
	}
	return all[at], true
}

func (r *Registry) environmentNames() string {
	var names []string
	if r.config.Environments != nil {
		for _, e := range r.config.Environments.All() {
			names = append(names, e.Name)
		}
	}
	return launch.ListNames(names)
}

// Environment is the name of the environment that an agent runs in, by its registered name; empty: it is not isolated.
func (r *Registry) Environment(name string) string {
	if agent := r.agents[canonical(name)]; agent != nil {
		return agent.Environment
	}
	return ""
}

// notIsolable says why the agent cannot run in its environment; empty: it can, or needs not.
func (r *Registry) notIsolable(a *agent) string {
	if !a.isolated() {
		return ""
	}
	info, _ := r.environmentInfo(a.Environment)
	program := r.findProgram(a.Command)
	switch {
	case !info.Available && info.Reason != nil:
		return fmt.Sprintf("Its environment %s cannot be had here: %s", a.Environment, *info.Reason)
	case program != "" && r.config.Starter != nil && !r.config.Starter.Shows(info.Environment, program):
		return fmt.Sprintf("Its environment %s does not show its program %s. Add the folder in which it is installed to the environment, under show.",
			a.Environment, launch.Real(program))
	case !r.hasKey(a):
		return fmt.Sprintf("In an environment it signs in by a key, because a sign-in refreshes files of a home that it does not have there. Set one of %s for the server.",
			strings.Join(a.lastingKeys(), ", "))
	}
	return ""
}

// lastingKeys are the variables by which the agent signs in without refreshing files.
func (a *agent) lastingKeys() []string {
	return slices.DeleteFunc(slices.Clone(a.keys), func(name string) bool { return slices.Contains(a.refreshing, name) })
}

// hasKey reports whether the agent is given a key. Which one an agent needs that has no list of keys is unknown here.
func (r *Registry) hasKey(a *agent) bool {
	keys := a.lastingKeys()
	if len(keys) == 0 || len(a.SetEnv) > len(a.config.SetEnv) { // the operator has added something on purpose
		return true
	}
	given := r.passOn(a.Env)
	return slices.ContainsFunc(slices.Concat(keys, addedTo(a.config.Env, a.Env)), func(name string) bool { return given[name] != "" })
}

// addedTo lists what all has beside the built-in part of it.
func addedTo(builtIn, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(builtIn, name) })
}

func environmentUnavailable(a *agent, reason string) error {
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "Agent %q cannot be isolated. %s", a.name, reason)
}

// environmentOf is the environment of the agent, as the request has narrowed it; the zero value: the agent is not isolated.
func (r *Registry) environmentOf(a *agent, choice domain.EnvironmentChoice) (domain.Environment, error) {
	if !a.isolated() {
		return domain.Environment{}, nil
	}
	if reason := r.notIsolable(a); reason != "" {
		return domain.Environment{}, environmentUnavailable(a, reason)
	}
	choice.Name = cmp.Or(choice.Name, a.Environment)
	if choice.Name != a.Environment { // the entry has changed since the request was admitted
		return domain.Environment{}, environmentUnavailable(a, fmt.Sprintf("It runs in the environment %s, and the execution is for %s.", a.Environment, choice.Name))
	}
	return r.config.Environments.Choose(choice)
}

// variablesInside is all that an agent in an environment is given, beside what the sandbox adds: its temporary folder and its proxy.
func (r *Registry) variablesInside(a *agent, e domain.Environment) map[string]string {
	env := launch.VariablesInside(r.config.Lookup, func(file string) bool { return r.config.Starter != nil && r.config.Starter.Shows(e, file) })
	maps.Copy(env, r.passOn(a.Env))
	maps.Copy(env, a.SetEnv)
	env["HOME"] = sandbox.ProcessHome
	if path, set := env["PATH"]; set {
		env["PATH"] = launch.AbsolutePath(path)
	}
	return env
}

// isolate puts the process of the agent into its environment, and returns its variables.
func (r *Registry) isolate(a *agent, request domain.Request, process *sandbox.Process, home string, servers []mcp.Endpoint) (map[string]string, error) {
	e, err := r.environmentOf(a, request.Environment)
	if err != nil {
		return nil, err
	}
	e.Clone = request.Clone
	if err := a.checkServers(e, servers); err != nil {
		return nil, err
	}
	env := r.variablesInside(a, e)
	if process.Start, err = r.guardInside(a, &e, env, slices.ContainsFunc(servers, mcp.Endpoint.IsProgram)); err != nil {
		return nil, err
	}
	process.Environment, process.Hosts, process.Home = e, a.Hosts, home
	if a.Command == a.config.Command || filepath.Base(a.Command) == a.config.Command { // the arguments are those of this program
		process.Argv = append(process.Argv, a.inside...)
	}
	return env, nil
}

// guardInside lends the agent its settings file, which it cannot change there, and returns the folder inside that it is started in.
func (r *Registry) guardInside(a *agent, e *domain.Environment, env map[string]string, servers bool) (start string, err error) {
	if a.guard == nil || env[a.guard.variable] != "" {
		return "", nil
	}
	place := filepath.Join(r.config.DataDir, "agents", a.name)
	files := map[string]string{a.guard.variable: filepath.Join(place, "settings.json")}
	err = write(files[a.guard.variable], a.guard.content)
	if with := a.guard.servers; err == nil && servers && with != nil {
		// It trusts the folder of Signoff's own programs, which nobody can put settings into.
		start = sandbox.ProgramFolder
		files[with.variable] = filepath.Join(place, "inside.json")
		err = write(files[with.variable], string(domain.Encode(map[string]string{start: with.trusted})))
		maps.Copy(env, with.env)
	}
	if err != nil {
		return "", domain.Errorf(domain.CodeAgentUnavailable, "The settings of agent %q cannot be written.", a.name).With(err)
	}
	maps.Copy(files, e.Files)
	e.Files = files
	return start, nil
}

// checkServers refuses an MCP server at an address that the agent does not reach from inside.
func (a *agent) checkServers(e domain.Environment, servers []mcp.Endpoint) error {
	for _, server := range servers {
		if server.IsProgram() {
			continue
		}
		address, err := url.Parse(server.URL)
		if err != nil {
			return domain.Invalid("/mcpServers", "The address of the MCP server %q cannot be read.", server.Name).With(err)
		}
		port, _ := strconv.ParseUint(cmp.Or(address.Port(), map[string]string{"http": "80", "https": "443"}[address.Scheme]), 10, 16)
		if !egress.Covers(a.Hosts, address.Hostname()) && !e.Reaches(egress.Covers, address.Hostname(), uint16(port)) {
			return domain.Invalid("/mcpServers", "The agent does not reach the MCP server %q from its environment %s: %s is neither among its hosts nor in a network of the environment.",
				server.Name, e.Name, address.Host)
		}
	}
	return nil
}

// serverVariables are what MCP servers of an isolated agent are given beside their own: they run outside, as the server's user.
func (r *Registry) serverVariables() []string {
	env := r.passOn(append([]string{"HOME"}, passedOn...))
	if path, set := env["PATH"]; set {
		env["PATH"] = launch.AbsolutePath(path)
	}
	return launch.Lines(env)
}
