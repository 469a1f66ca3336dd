package stdio

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
)

// Program is a running program. Its methods may be called by several goroutines at once.
type Program struct {
	*sandbox.Child // its standard error is read here

	subject string // of sentences about it: "The agent's process"
	stderr  *stderr

	mu         sync.Mutex
	killReason string // why it was killed; empty where it was not
}

// Attend begins to read the standard error of a process, which subject names at the beginning of a sentence. tell, unless it is nil, gets the first
// pieces of it. They end with a line, where lines are not very long, so that a secret is not split into two halves that a masker would miss.
func Attend(child *sandbox.Child, subject string, tell func(text []byte)) *Program {
	return &Program{Child: child, subject: subject, stderr: newStderr(child.Stderr, tell)}
}

// KillBecause ends the process and all that it has started. The first reason stays.
func (p *Program) KillBecause(why string) {
	p.mu.Lock()
	if p.killReason == "" && !p.Gone() {
		p.killReason = why
	}
	p.mu.Unlock()
	p.Kill()
}

// Gone tells whether the process and everything that it has started are dead.
func (p *Program) Gone() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// WasKilled tells whether the process was killed. It may still be there for a moment, and is of no use any more.
func (p *Program) WasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killReason != ""
}

const (
	endGrace       = 1500 * time.Millisecond // for a program to end when its input does
	terminateGrace = time.Second             // when it is asked to

	// KillGrace is for the kernel to end what was killed.
	KillGrace = 2500 * time.Millisecond
)

// End lets the process end by itself, asks it to, and kills it, whichever is needed. It takes five seconds at most.
func (p *Program) End() error {
	_ = p.Stdin.Close() // it may be closed already
	for _, step := range []struct {
		grace time.Duration
		then  func()
	}{{endGrace, p.Terminate}, {terminateGrace, p.Kill}, {KillGrace, func() {}}} {
		late := time.NewTimer(step.grace)
		select {
		case <-p.Done():
			late.Stop()
			return nil
		case <-late.C:
			step.then()
		}
	}
	return fmt.Errorf("%s cannot be killed", p.subject)
}

// ExitGrace is for a process to end whose output has ended.
const ExitGrace = 3 * time.Second

const (
	drainedGrace = time.Second // for the end of its standard error
	lastWords    = 2 << 10     // bytes of its standard error in a message
)

// ExitError says how the process ended, which is about to be so if it is not so yet. mask hides secrets in its last words.
func (p *Program) ExitError(mask func([]byte) []byte) *domain.Error {
	if !Within(ExitGrace, p.Done()) {
		return domain.Errorf(domain.CodeAgentExited, "%s has closed its output, and does not end.", p.subject)
	}
	p.Drain()
	message := p.howItEnded()
	if words := p.lastWords(mask); words != "" {
		message += " It last wrote to its standard error:\n" + words
	}
	return domain.Errorf(domain.CodeAgentExited, "%s", message)
}

func (p *Program) howItEnded() string {
	exit := p.Exit()
	p.mu.Lock()
	reason := p.killReason
	p.mu.Unlock()
	switch {
	case reason != "":
		return p.subject + " was killed, because " + reason + "."
	case exit.Trouble != "":
		return p.subject + " ended, and nobody knows how."
	case exit.Signal != "":
		return fmt.Sprintf("%s was ended by a signal (%s).", p.subject, exit.Signal)
	default:
		return fmt.Sprintf("%s ended with exit code %d.", p.subject, exit.Code)
	}
}

// lastWords are the last lines of the standard error.
func (p *Program) lastWords(mask func([]byte) []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(mask(p.stderr.text())), "\uFFFD"))
	if len(text) <= lastWords {
		return text
	}
	text = "…" + strings.ToValidUTF8(text[len(text)-lastWords:], "")
	if _, lines, cut := strings.Cut(text, "\n"); cut {
		return "…\n" + lines
	}
	return text
}

// Drain waits until the standard error of a program that has ended is read, at most a second.
func (p *Program) Drain() { Within(drainedGrace, p.stderr.drained) }

// Within waits for done, at most for so long.
func Within(grace time.Duration, done <-chan struct{}) bool {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}
