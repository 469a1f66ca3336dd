package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"signoff/internal/domain"
)

// Process is a program that is spoken to over its standard streams: an agent.
type Process struct {
	Argv []string // Argv[0] is an absolute path
	Dir  string   // absolute; where it starts
	Env  []string // all of its environment, NAME=value; nothing of the server's is added. Of two values, the later counts
}

// Start starts process without walls, whatever the kind of the sandbox is, and returns when the program runs. A program
// that cannot be run is a [domain.CodeAgentUnavailable] that names it and says why.
//
// The end of ctx ends the starting, and nothing later: from then on, the child lives until its own exit or Kill. When
// Start returns an error, nothing is left of the process.
func (s *Sandbox) Start(ctx context.Context, process Process) (*Child, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	plan, err := s.planProcess(process)
	if err != nil {
		return nil, err
	}
	return plan.converse(ctx)
}

// planProcess looks at what can be told apart here only: further down, a missing folder and a missing program are the
// same error.
func (s *Sandbox) planProcess(process Process) (plan, error) {
	if s.processes == "" {
		return plan{}, unavailable(errors.New(s.why(KindOff)))
	}
	if err := wellFormed(process.Argv); err != nil {
		return plan{}, err
	}
	if err := environs(process.Env); err != nil {
		return plan{}, err
	}
	for _, path := range []string{process.Argv[0], process.Dir} {
		if !filepath.IsAbs(path) || !isText(path) {
			return plan{}, domain.Errorf(domain.CodeInvalidArguments, "%q is not an absolute path.", path)
		}
	}
	info, err := os.Stat(process.Dir)
	if err != nil {
		return plan{}, unavailable(err)
	}
	if !info.IsDir() {
		return plan{}, domain.Errorf(domain.CodeAgentUnavailable, "The agent cannot start in %s: not a folder.", process.Dir)
	}
	return plan{
		Method: s.processes, Dir: process.Dir, Argv: process.Argv, Env: process.Env, Process: true, Lease: s.lease,
		Starts: s.starts,
	}, nil
}

func unavailable(err error) error {
	return domain.Errorf(domain.CodeAgentUnavailable, "The agent could not be started: %s", reason(err)).With(err)
}

// Child is a running [Process] with all that it starts. Its methods may be called by any number of goroutines at once,
// and none of them blocks.
type Child struct {
	// Stdin has deadlines: the process may not read. Closing it is the end of the process's input. It is closed when the
	// process is dead.
	Stdin *os.File

	// Stdout and Stderr have one reader each; both must be read, or the process blocks. When the process is dead, what it
	// has written can still be read, and then comes the end. They close there by themselves; who does not read that far
	// closes them.
	Stdout, Stderr io.ReadCloser

	control *os.File      // closing it kills
	asked   chan struct{} // to terminate; one request that waits is enough
	killed  chan struct{}
	kill    sync.Once
	done    chan struct{}
	exit    Exit // written before done is closed
}

// Exit is how a process ended.
type Exit struct {
	Code    int    // as a shell tells it: 128 + signal for a killed process; -1 where nobody knows
	Signal  string // what that signal is called, such as "killed"; empty where Code tells of none
	Trouble string // why nobody knows: the supervisor was killed, and everything with it
}

// Terminate asks the program itself, not what it has started, to end: SIGTERM. Kill is for those that do not.
func (c *Child) Terminate() {
	select {
	case c.asked <- struct{}{}:
	default:
	}
}

// Kill kills the process and everything that it has started.
func (c *Child) Kill() {
	c.kill.Do(func() {
		close(c.killed)
		c.control.Close()
	})
}

// Done is closed when the process and everything that it has started are dead, and the kernel has buried them. That is
// at most about two seconds after Kill or the program's own exit.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit tells how the process ended, once Done is closed.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}
