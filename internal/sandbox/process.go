package sandbox

import (
	"io"
	"os"
	"sync"

	"signoff/internal/domain"
)

// Process is a program that is spoken to over its standard streams: an agent, or a tool server.
type Process struct {
	Argv []string // Argv[0] is an absolute path
	Dir  string   // absolute; where it starts
	Env  []string // all of its environment, NAME=value; nothing of the server's is added. Of two values, the later counts

	// Environment isolates the process; the zero value does not. A process on the host is not isolated either.
	Environment domain.Environment
	Hosts       []string // public hosts that an isolated process may connect to, beside the networks of its environment

	// Shown are files that an isolated process finds besides, read-only, each at its own path, which is absolute and has no links in it.
	Shown []string

	// Home is an absolute folder that an isolated process finds at [ProcessHome], and may write. Empty: it has none.
	Home string
	// Start is the folder inside in which an isolated process starts; empty: Dir.
	Start string
	// Serve takes connections of an isolated process to these places, NAME:PORT, which lead nowhere else. The names end in ".signoff".
	// A process that is served finds this binary as [OwnProgram].
	Serve map[string]func(io.ReadWriteCloser)
}

func unavailable(err error) error {
	return domain.Errorf(domain.CodeAgentUnavailable, "The program could not be started: %s", reason(err)).With(err)
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
	Code    int    // as of a shell: 128 + signal for a killed process; -1 if unknown
	Signal  string // the name of that signal, such as "killed"; empty without one
	Trouble string // why the code is unknown: the supervisor was killed, and everything with it
}

// Terminate asks the program, but not its children, to end: SIGTERM. Kill is for programs that do not.
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

// Done is closed when the process and everything that it has started are dead, and the kernel has reaped them. That is
// at most about two seconds after Kill or the program's own exit.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit tells how the process ended, once Done is closed.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}
