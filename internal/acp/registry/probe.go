package registry

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"signoff/internal/launch"
	"signoff/internal/sandbox"
)

const (
	patience        = 2 * time.Second // of somebody who lists the agents
	versionTimeout  = 5 * time.Second
	versionHolds    = time.Hour // while the program's file is the same: many of them take a second of a processor to tell
	noVersionHolds  = time.Minute
	versionLongest  = 100
	versionMostRead = 4 << 10
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
	info := AgentInfo{
		Name: agent.name, Description: agent.describe(), Configured: agent.said, Available: reason == "", Reason: reason, Mode: agent.mode(),
	}
	if program := r.findProgram(agent.Command); program != "" {
		info.Version = r.version(ctx, agent, program)
	}
	return info
}

func (a *agent) describe() string {
	if a.AllowBypass {
		return strings.TrimSpace(a.Description + " It may act without asking: its configuration has allowBypass.")
	}
	return a.Description
}

// missing tells what has to be done before the agent can be used, or nothing.
func (r *Registry) missing(agent *agent) string {
	if r.findProgram(agent.Command) == "" {
		return agent.notInstalled()
	}
	home, err := r.homeOf(agent)
	if err != nil {
		return "It shares the server's home, and HOME is not set there."
	}
	if !r.maySignIn(agent, home) {
		return "It has nothing to sign in with. " + agent.howToSignIn()
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

func (a *agent) howToSignIn() string {
	return fmt.Sprintf("Set one of %s for the server, or sign in once as the server's user with `%s`%s.",
		strings.Join(a.keys, ", "), a.signIn, a.inWhichHome())
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

// probe remembers what was found out about a program. Whoever comes while that is being found out waits for the same answer.
type probe[T any] struct {
	mu     sync.Mutex
	found  T
	of     identity
	until  time.Time
	asking chan struct{} // closed when the answer is there; nil where nobody asks
}

// last is what was found out last about the program, and whether it still holds.
func (p *probe[T]) last(of identity) (found T, holds bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != of {
		return found, false
	}
	return p.found, time.Now().Before(p.until)
}

// underWay tells whether it is being found out.
func (p *probe[T]) underWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asking != nil
}

// ask has begin run find, unless that is under way; the channel closes when its answer is there.
func (p *probe[T]) ask(begin func(func()), of identity, find func() (found T, holds time.Duration)) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == nil {
		asking := make(chan struct{})
		p.asking = asking
		begin(func() {
			found, holds := find()
			p.learn(of, found, holds)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asking = nil
			close(asking)
		})
	}
	return p.asking
}

// learn takes what was found out, and for how long it holds.
func (p *probe[T]) learn(of identity, found T, holds time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.of, p.until = found, of, time.Now().Add(holds)
}

// identity changes when a program is updated.
type identity struct {
	path    string
	changed time.Time
	size    int64
}

func identify(program string) identity {
	info, err := os.Stat(program)
	if err != nil {
		return identity{path: program}
	}
	return identity{program, info.ModTime(), info.Size()}
}

// version returns what the program says of its version, or nothing where that is not known when ctx ends.
func (r *Registry) version(ctx context.Context, agent *agent, program string) string {
	if launches(program, agent.Args) || interprets(program) || r.config.Starter == nil {
		return "" // a launcher would tell its own
	}
	p, of := r.probes[agent.name], identify(program)
	if found, holds := p.last(of); holds {
		return found
	}
	answered := p.ask(r.probing.Go, of, func() (string, time.Duration) {
		found := r.askVersion(program)
		if found == "" {
			return "", noVersionHolds
		}
		return found, versionHolds
	})
	select {
	case <-answered:
	case <-ctx.Done():
		return ""
	}
	found, _ := p.last(of)
	return found
}

// askVersion runs `program --version`, without the variables that the configuration passes on: what it prints is shown.
func (r *Registry) askVersion(program string) string {
	ctx, cancel := context.WithTimeout(r.ctx, versionTimeout)
	defer cancel()
	home, err := os.MkdirTemp("", "signoff-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(home)
	env := r.passOn(passedOn)
	env["HOME"], env["PATH"] = home, launch.AbsolutePath(env["PATH"])
	child, err := r.config.Starter.Start(ctx, sandbox.Process{Argv: []string{program, "--version"}, Dir: home, Env: lines(env)})
	if err != nil {
		return ""
	}
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	return firstVersion(converse(child))
}

// converse says nothing to a process, and returns the beginning of what it prints. It returns when the process is dead.
func converse(child *sandbox.Child) string {
	_ = child.Stdin.Close()
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, child.Stderr) })
	output, _ := io.ReadAll(io.LimitReader(child.Stdout, versionMostRead))
	_, _ = io.Copy(io.Discard, child.Stdout)
	reading.Wait()
	if child.Exit().Code != 0 {
		return ""
	}
	return string(output)
}

// firstVersion is the first line with a digit. Some print a banner before.
func firstVersion(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		printable := !strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' })
		if strings.ContainsAny(line, "0123456789") && len(line) <= versionLongest && printable {
			return line
		}
	}
	return ""
}
