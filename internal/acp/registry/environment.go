package registry

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/secrets"
)

// passedOn are the variables of the server that every agent gets. They say where programs, time and language are, how
// the network is left, and whom it may trust; none is a credential but the password that a proxy's address may hold.
var passedOn = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// partsOfHome say where parts of a home lie. They belong to the server's own home, and lead out of any other.
var partsOfHome = []string{
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
	"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR",
}

// environment is all that a program of the agent is given, with home as its home; later values count.
func (r *Registry) environment(agent *agent, home string) map[string]string {
	env := r.passOn(passedOn)
	if agent.Home == HomeShared {
		maps.Copy(env, r.passOn(partsOfHome))
	}
	maps.Copy(env, r.passOn(agent.Env))
	maps.Copy(env, agent.SetEnv)
	env["HOME"] = home
	if path, set := env["PATH"]; set {
		env["PATH"] = launch.AbsolutePath(path)
	}
	return env
}

// passOn returns the variables that the server has of these.
func (r *Registry) passOn(names []string) map[string]string {
	return launch.PassOn(r.config.Lookup, names)
}

// homeOf is where the home of the agent lies. It does not look whether it is there.
func (r *Registry) homeOf(agent *agent) (string, error) {
	switch agent.Home {
	case HomePrivate:
		folder := "home"
		if agent.isolated() { // what it writes there, it must not find when it is not isolated any more
			folder = "isolated"
		}
		return filepath.Join(r.config.DataDir, "agents", agent.name, folder), nil
	case HomeShared:
		home, _ := r.config.Lookup("HOME")
		if !filepath.IsAbs(home) {
			return "", domain.Errorf(domain.CodeAgentUnavailable, "Agent %q shares the server's home, and HOME is not set there. "+
				"Set it, or give the agent `home: %s`.", agent.name, HomePrivate)
		}
		return home, nil
	default:
		return agent.Home, nil
	}
}

// prepareHome makes a private home where it is missing, and closes it to others in any case: its sign-ins lie in there.
func (r *Registry) prepareHome(agent *agent) (string, error) {
	home, err := r.homeOf(agent)
	if err != nil {
		return "", err
	}
	if agent.Home == HomePrivate {
		err = os.MkdirAll(home, 0o700)
		if err == nil {
			err = os.Chmod(home, 0o700) //nolint:gosec // a folder is entered
		}
	}
	if info, statErr := os.Stat(home); err != nil || statErr != nil || !info.IsDir() {
		return "", domain.Errorf(domain.CodeAgentUnavailable, "The home of agent %q is not a folder that can be used.", agent.name).With(err)
	}
	return home, nil
}

// writeGuard writes the configuration's settings file, where it has one, and sets its variable in env, unless the operator has set
// it. It returns the folder that the agent has to be started in; empty: in its workspace.
func (r *Registry) writeGuard(agent *agent, env map[string]string, servers bool) (folder string, err error) {
	if agent.guard == nil || env[agent.guard.variable] != "" {
		return "", nil
	}
	place := filepath.Join(r.config.DataDir, "agents", agent.name)
	env[agent.guard.variable] = filepath.Join(place, "settings.json")
	err = write(env[agent.guard.variable], agent.guard.content)
	if err == nil && servers && agent.guard.servers != nil {
		folder = filepath.Join(place, "start")
		err = r.allowServers(agent.guard.servers, folder, env)
	}
	if err != nil {
		return "", domain.Errorf(domain.CodeAgentUnavailable, "The settings of agent %q cannot be written.", agent.name).With(err)
	}
	return folder, nil
}

// allowServers prepares the folder in which an agent is started that is to use MCP servers.
func (r *Registry) allowServers(with *serversGuard, folder string, env map[string]string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	env[with.variable] = folder + ".json"
	maps.Copy(env, with.env)
	return write(env[with.variable], string(domain.Encode(map[string]string{real: with.trusted})))
}

// write writes a file in one step: another agent may be reading it.
func write(file, content string) error {
	if there, err := os.ReadFile(file); err == nil && string(there) == content {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "settings-")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// masker hides what was passed on by name. Names of models and places are no secrets, and a debug feed without them
// would explain nothing.
func (r *Registry) masker(agent *agent, servers map[string]mcp.Server) *secrets.Masker {
	names := slices.Concat(passedOn, agent.Env)
	for _, server := range servers {
		names = slices.Concat(names, server.Variables())
	}
	var values []string
	for _, name := range names {
		value, _ := r.config.Lookup(name)
		switch {
		case slices.Contains(passedOn, name):
			values = append(values, passwordOf(value))
		case !public(name):
			values = append(values, value)
		}
	}
	return secrets.NewMasker(values...)
}

func public(name string) bool {
	return slices.ContainsFunc([]string{"_MODEL", "_REGION", "_LOCATION", "_PROJECT"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// passwordOf is the user and password of an address, where it has them.
func passwordOf(address string) string {
	_, rest, found := strings.Cut(address, "://")
	at := strings.LastIndexByte(rest, '@')
	if !found || at < 0 {
		return ""
	}
	return rest[:at]
}
