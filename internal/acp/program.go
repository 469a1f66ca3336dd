package acp

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
)

// program is the agent's process: what it writes beside the protocol, and how it ends.
type program struct {
	child  *sandbox.Child
	stderr *stderr

	mu         sync.Mutex
	killReason string // why it was killed; empty where it was not
}

// kill ends the process and all that it has started. The first reason stays.
func (p *program) kill(why string) {
	p.mu.Lock()
	if p.killReason == "" && !p.gone() {
		p.killReason = why
	}
	p.mu.Unlock()
	p.child.Kill()
}

// gone tells whether the process and everything that it has started are dead.
func (p *program) gone() bool {
	select {
	case <-p.child.Done():
		return true
	default:
		return false
	}
}

// wasKilled tells whether the process was killed. It may still be there for a moment, and is of no use any more.
func (p *program) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killReason != ""
}

const (
	endGrace       = 1500 * time.Millisecond // for an agent to end when its input does
	terminateGrace = time.Second             // when it is asked to
	killGrace      = 2500 * time.Millisecond // for the kernel to end it
)

// end lets the process end by itself, asks it to, and kills it, whichever is needed. It takes five seconds at most.
func (p *program) end() error {
	_ = p.child.Stdin.Close() // it may be closed already
	for _, step := range []struct {
		grace time.Duration
		then  func()
	}{{endGrace, p.child.Terminate}, {terminateGrace, p.child.Kill}, {killGrace, func() {}}} {
		late := time.NewTimer(step.grace)
		select {
		case <-p.child.Done():
			late.Stop()
			return nil
		case <-late.C:
			step.then()
		}
	}
	return errors.New("acp: the agent's process cannot be killed")
}

const (
	exitGrace    = 3 * time.Second        // for a process whose output has ended
	drainedGrace = 500 * time.Millisecond // for the end of its standard error
	lastWords    = 2 << 10                // bytes of its standard error in a message
)

// exitError says how the process ended, which is about to be so if it is not so yet.
func (p *program) exitError(mask func([]byte) []byte) *domain.Error {
	if !within(exitGrace, p.child.Done()) {
		return domain.Errorf(domain.CodeAgentExited, "The agent has closed its output, and its process does not end.")
	}
	within(drainedGrace, p.stderr.drained)
	message := p.howItEnded()
	if words := p.lastWords(mask); words != "" {
		message += " It last wrote to its standard error:\n" + words
	}
	return domain.Errorf(domain.CodeAgentExited, "%s", message)
}

func (p *program) howItEnded() string {
	exit := p.child.Exit()
	p.mu.Lock()
	reason := p.killReason
	p.mu.Unlock()
	switch {
	case reason != "":
		return "The agent's process was killed, because " + reason + "."
	case exit.Trouble != "":
		return "The agent's process ended, and nobody knows how."
	case exit.Signal != "":
		return fmt.Sprintf("The agent's process was ended by a signal (%s).", exit.Signal)
	default:
		return fmt.Sprintf("The agent's process ended with exit code %d.", exit.Code)
	}
}

// lastWords are the last lines of the standard error.
func (p *program) lastWords(mask func([]byte) []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(mask(p.stderr.text())), "\uFFFD"))
	if len(text) <= lastWords {
		return text
	}
	text = wire.Ending(text, lastWords)
	if _, lines, cut := strings.Cut(text, "\n"); cut {
		return "…\n" + lines
	}
	return text
}

// within waits for done, at most for so long.
func within(grace time.Duration, done <-chan struct{}) bool {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

var _ wire.DeadlineWriter = (*os.File)(nil)
