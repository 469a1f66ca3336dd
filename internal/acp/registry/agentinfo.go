package registry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// AgentInfo is what may be shown of an agent: no address, no value of a variable, no path.
type AgentInfo struct {
	Name        string
	Description string
	Configured  bool // by the operator; the others are there of themselves
	Available   bool
	Reason      string // why it is not available, and what to do about it
	Version     string // empty: not known, or not yet
	Mode        string // in which it asks people; empty: it is left in its own
	Environment string // that it runs in; empty: it is not isolated
}

// Agents lists the agents, sorted, and whether each could be used now. Programs are looked for every time. Versions are
// asked for in the background; one that is not known within two seconds is left out this time.
func (r *Registry) Agents(ctx context.Context) []AgentInfo {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.AgentsInFull(ctx)
}

// AgentsInFull is Agents for somebody who has time: it waits for the versions until ctx ends.
func (r *Registry) AgentsInFull(ctx context.Context) []AgentInfo {
	all := r.sorted()
	infos := make([]AgentInfo, len(all))
	var asking sync.WaitGroup
	for i, agent := range all {
		asking.Go(func() { infos[i] = r.info(ctx, agent) })
	}
	asking.Wait()
	return infos
}

func (r *Registry) info(ctx context.Context, agent *agent) AgentInfo {
	reason := r.missing(agent)
	description := agent.Description
	if agent.AllowBypass {
		description = strings.TrimSpace(description + " It may act without asking: its configuration has allowBypass.")
	}
	info := AgentInfo{
		Name: agent.name, Description: description, Configured: agent.said, Available: reason == "", Reason: reason, Mode: agent.mode(),
		Environment: agent.Environment,
	}
	if program := r.findProgram(agent.Command); program != "" {
		info.Version = r.version(ctx, agent, program)
	}
	return info
}

// missing tells what has to be done before the agent can be used, or nothing.
func (r *Registry) missing(agent *agent) string {
	if r.findProgram(agent.Command) == "" {
		return agent.notInstalled()
	}
	if agent.isolated() {
		return r.notIsolable(agent)
	}
	home, err := r.homeOf(agent)
	if err != nil {
		return "It shares the server's home, and HOME is not set there."
	}
	if !r.maySignIn(agent, home) {
		return fmt.Sprintf("It has nothing to sign in with. Set one of %s for the server, or sign in once as the server's user with `%s`%s.",
			strings.Join(agent.keys, ", "), agent.signIn, agent.inWhichHome())
	}
	return ""
}

func (a *agent) notInstalled() string {
	program := fmt.Sprintf("The program %q is not there.", a.Command)
	if !filepath.IsAbs(a.Command) {
		program = fmt.Sprintf("The program %q is not on the server's PATH.", a.Command)
	}
	if a.install != "" && a.Command == a.config.Command {
		return program + " Install it: " + a.install
	}
	return program
}

func (a *agent) inWhichHome() string {
	switch a.Home {
	case HomePrivate:
		return ", with HOME set to its private home, agents/" + a.name + "/home in the data folder"
	case HomeShared:
		return ""
	default:
		return ", with HOME set to the home of its configuration"
	}
}

// maySignIn looks for a key, or for traces of a sign-in. It says yes where it cannot tell: the agent itself is asked in
// the end. In a home that is shared, any use of the agent counts, since some keep their sign-in in a keyring.
func (r *Registry) maySignIn(agent *agent, home string) bool {
	if len(agent.files) == 0 || runtime.GOOS != "linux" {
		return true
	}
	for name, value := range r.environment(agent, home) {
		ours := slices.Contains(slices.Concat(passedOn, agent.config.Env), name) || name == "HOME" || strings.HasPrefix(name, "XDG_")
		if value != "" && (!ours || slices.Contains(agent.keys, name)) {
			return true // a key, or something that the operator has added on purpose
		}
	}
	return slices.ContainsFunc(agent.files, func(file string) bool {
		if agent.Home == HomeShared {
			file, _, _ = strings.Cut(file, "/")
		}
		_, err := os.Stat(filepath.Join(home, file))
		return err == nil
	})
}
