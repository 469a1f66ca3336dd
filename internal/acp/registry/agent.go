package registry

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/launch"
)

const (
	defaultStartTimeout = 30 * time.Second
	longestTimeout      = time.Hour
)

// agent is an agent of the registry, complete.
type agent struct {
	AgentConfig
	name string
	as   string // the name in the configuration, for messages
	said bool   // it stands in the configuration
	builtin
}

// pointer is the place of a field of the agent in the configuration.
func (a *agent) pointer(field string) string { return "/agents/" + a.as + "/" + field }

// mergeAgents returns the agents of the operator over the built-in ones, by their canonical names.
func mergeAgents(configured map[string]AgentConfig, home string) (map[string]*agent, error) {
	all := map[string]*agent{}
	for name, b := range builtins {
		all[canonical(name)] = &agent{AgentConfig: b.config, name: name, as: name, builtin: b}
	}
	said := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if err := checkName(name); err != nil {
			return nil, err
		}
		key := canonical(name)
		if earlier, double := said[key]; double {
			return nil, domain.Invalid("/agents/"+name, "%q and %q are one agent: case, - and _ do not count, and well-known "+
				"agents have several names", earlier, name)
		}
		said[key] = name
		if all[key] == nil {
			all[key] = &agent{name: name}
		}
		all[key].as, all[key].said = name, true
		all[key].override(configured[name])
	}
	maps.DeleteFunc(all, func(_ string, r *agent) bool { return r.Off })
	for _, key := range slices.Sorted(maps.Keys(all)) {
		complete := all[key]
		if complete.isolated() {
			complete.Home = cmp.Or(complete.Home, HomePrivate)
		}
		complete.Home, complete.StartTimeout = cmp.Or(complete.Home, home), cmp.Or(complete.StartTimeout, defaultStartTimeout)
		if err := complete.check(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func checkName(name string) error {
	if !launch.NameForm.MatchString(name) || canonical(name) == string(domain.SourceInternal) {
		return domain.Invalid(domain.Pointer("agents", name), "%q cannot be the name of an agent: a name begins with a letter, "+
			"has letters, digits, - and _, at most 64, and is not %q", name, domain.SourceInternal)
	}
	return nil
}

// override takes what the operator says, field by field.
func (a *agent) override(with AgentConfig) {
	a.Off = with.Off
	a.FileSystem, a.Terminal, a.AllowBypass = with.FileSystem, with.Terminal, with.AllowBypass
	a.Command, a.Description = cmp.Or(with.Command, a.Command), cmp.Or(with.Description, a.Description)
	a.Model, a.Home, a.Mode = cmp.Or(with.Model, a.Model), cmp.Or(with.Home, a.Home), cmp.Or(with.Mode, a.Mode)
	if with.Args != nil {
		a.Args = with.Args
	}
	if with.Env != nil {
		a.Env = with.Env
	}
	a.SilentAfter, a.StartTimeout = with.SilentAfter, with.StartTimeout
	a.Environment, a.Hosts = with.Environment, with.Hosts
	set := map[string]string{}
	maps.Copy(set, a.SetEnv)
	maps.Copy(set, with.SetEnv) // a built-in one brings the agent to ask: another variable must not take it away
	a.SetEnv = set
}

// mode is the agent's mode in which it asks people, or nothing.
func (a *agent) mode() string {
	if a.Mode == nil {
		return ""
	}
	return *a.Mode
}

// check refuses what cannot work, or does something else than it seems to.
func (a *agent) check() error {
	if err := launch.CheckProgram(a.pointer(""), a.Command, a.Args); err != nil {
		return err
	}
	if err := launch.CheckVariables(a.pointer(""), a.Env, a.SetEnv); err != nil {
		return err
	}
	switch {
	case a.Home != HomePrivate && a.Home != HomeShared && !filepath.IsAbs(a.Home):
		return domain.Invalid(a.pointer("home"), "the home is %s, %s or an absolute path, not %q", HomePrivate, HomeShared, a.Home)
	case a.SilentAfter < 0 || a.SilentAfter > longestTimeout:
		return domain.Invalid(a.pointer("silentAfterSeconds"), "it is 1 to 3600 seconds, not %.0f", a.SilentAfter.Seconds())
	case a.StartTimeout < 0 || a.StartTimeout > longestTimeout:
		return domain.Invalid(a.pointer("startTimeoutSeconds"), "it is 1 to 3600 seconds, not %.0f", a.StartTimeout.Seconds())
	default:
		return nil
	}
}
