package sandbox

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/failpoint"
)

// startProcess starts the process that the plan describes, and returns when it runs.
func (p plan) startProcess(ctx context.Context) (*Child, error) {
	started, err := p.Starts.enter(ctx)
	if err != nil {
		return nil, err
	}
	var pipes pipes
	in, out, errs := pipes.toChild(), pipes.fromChild(), pipes.fromChild()
	further := []pipe{in, errs}
	if p.Online {
		further = append(further, pipes.relaySocket())
	}
	for _, one := range []pipe{in, out, errs} {
		if err := p.View.belong(one.theirs); err != nil {
			pipes.err = err
		}
	}
	r, err := p.start(&pipes, out, further...)
	if err != nil {
		started()
		return nil, unavailable(err)
	}
	go r.awaitStart(started)
	if p.Online {
		p.Proxy.Start(further[2].ours)
		go func() {
			<-r.exited
			p.Proxy.Close()
		}()
	}
	stdout, stderr := &stream{pipe: out.ours}, &stream{pipe: errs.ours}
	c := &Child{
		Stdin: in.ours, Stdout: stdout, Stderr: stderr, control: r.control,
		asked: make(chan struct{}, 1), killed: make(chan struct{}), done: make(chan struct{}),
	}
	go c.supervise(r, stdout, stderr)
	if err := c.awaitBegin(ctx, r); err != nil {
		stdout.Close()
		stderr.Close()
		return nil, err
	}
	failpoint.Hit(failpoint.AfterProcessStart)
	return c, nil
}

// supervise stays with the child until everything is dead.
func (c *Child) supervise(r *running, output ...*stream) {
	defer close(c.done)
	c.forwardRequests(r)
	r.control.Close()
	c.exit = exitOf(r.last())
	c.Stdin.Close()
	for _, one := range output {
		one.finish()
	}
}

func (c *Child) forwardRequests(r *running) {
	killed := c.killed
	for {
		select {
		case <-c.asked:
			r.terminate()
		case <-killed:
			killed = nil
			r.stop()
		case <-r.exited:
			return
		}
	}
}

// awaitBegin returns when the program runs, or with the reason why it does not. A program that has ended did run.
func (c *Child) awaitBegin(ctx context.Context, r *running) error {
	select {
	case <-r.begun:
		return nil
	case <-c.done:
	case <-ctx.Done():
		c.Kill()
		select {
		case <-c.done:
		case <-time.After(2 * killGrace): // not even SIGKILL ends a process that waits for a dead disk
		}
		return context.Cause(ctx)
	}
	select {
	case <-r.begun:
		return nil
	default:
		return unavailable(errors.New(cmp.Or(c.exit.Trouble, "it was killed before it ran")))
	}
}

func exitOf(end report, err error) Exit {
	if err != nil {
		return Exit{Code: -1, Trouble: err.Error()}
	}
	exit := Exit{Code: end.ExitCode}
	if signal := unix.Signal(exit.Code - 128); exit.Code > 128 && unix.SignalName(signal) != "" {
		exit.Signal = signal.String()
	}
	return exit
}
