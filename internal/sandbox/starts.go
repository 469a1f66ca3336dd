package sandbox

import (
	"context"
	"runtime"
)

// starts bounds how many commands and processes start at once. A start is work for a processor: three programs are loaded,
// namespaces made, mounts built. Hundreds at once take the server's own share, of which its lease is kept, and each of them
// takes so long that it looks dead. nil bounds nothing.
type starts chan struct{}

// Commands is how many commands a server on this machine does well to run at once: eight for each processor, since most of
// them wait for something, and one for each 256 MiB of memory, but at least four.
func Commands() int {
	commands := 8 * runtime.GOMAXPROCS(0)
	if memory := machineMemory(); memory > 0 {
		commands = min(commands, int(memory>>28))
	}
	return max(4, commands)
}

// enter waits for a turn, in the order of the calls. The caller ends its turn with done when its program runs, or never will.
func (s starts) enter(ctx context.Context) (done func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
