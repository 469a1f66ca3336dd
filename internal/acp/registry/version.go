package registry

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
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
		found := r.askVersion(agent, program)
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
// An isolated agent is asked in its environment, without its networks and files.
func (r *Registry) askVersion(agent *agent, program string) string {
	ctx, cancel := context.WithTimeout(r.ctx, versionTimeout)
	defer cancel()
	home, err := os.MkdirTemp("", "signoff-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(home)
	process, passed := sandbox.Process{Argv: []string{program, "--version"}, Dir: home}, passedOn
	if agent.isolated() {
		if process.Environment, err = r.environmentOf(agent, domain.EnvironmentChoice{}); err != nil {
			return ""
		}
		process.Environment.Networks, process.Environment.Files, passed = nil, nil, launch.Inside
	}
	env := r.passOn(passed)
	env["HOME"], env["PATH"] = home, launch.AbsolutePath(env["PATH"])
	process.Env = launch.Lines(env)
	child, err := r.config.Starter.Start(ctx, process)
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
