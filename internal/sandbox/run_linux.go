package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"signoff/internal/domain"
)

// order is what the server tells a supervisor. The first one starts the command; the end of the pipe kills it. A
// supervisor ignores what it does not know, so an order that extends a lease can be added.
type order struct {
	Start *plan
}

// report is the last thing that a supervisor says: everything below it is dead.
type report struct {
	ExitCode int
	Killed   bool   // by order, not by itself
	Trouble  string // why the command was never started
}

const (
	killGrace   = 1500 * time.Millisecond // for a supervisor to bury its tree
	outputGrace = 500 * time.Millisecond  // for a blocked writer, when everything is dead
	reportLimit = 64 << 10
)

var errTimeout = errors.New("sandbox: the command's time is up")

// running is one supervisor, seen from the server.
type running struct {
	supervisor *exec.Cmd
	control    *os.File // closing it kills
	output     *pump
	report     chan []byte
	exited     chan struct{} // the supervisor is dead, and has been waited for
	started    time.Time
}

func (p plan) run(ctx context.Context, timeout time.Duration, output io.Writer) (domain.CommandResult, error) {
	r, err := p.start(output)
	if err != nil {
		return domain.CommandResult{}, domain.Errorf(domain.CodeSandboxUnavailable,
			"The command could not be started.").With(err)
	}
	defer r.close()
	limited := ctx
	if timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer stop()
	}
	end, err := r.wait(limited)
	return r.result(limited, end, err)
}

// start makes the pipes and the supervisor. Its session is its own, so that a Ctrl-C at the server's terminal reaches
// the server alone, which then ends its commands in order.
func (p plan) start(output io.Writer) (*running, error) {
	var pipes pipes
	defer pipes.closeTheirs()
	control := pipes.toChild()
	out := pipes.fromChild()
	reports := pipes.fromChild()
	if pipes.err != nil {
		pipes.closeOurs()
		return nil, pipes.err
	}
	supervisor := &exec.Cmd{
		Path: self, Args: []string{"signoff", superviseArg}, Dir: "/", Env: p.environment(),
		Stdin: control.theirs, Stdout: out.theirs, Stderr: reports.theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := supervisor.Start(); err != nil {
		pipes.closeOurs()
		return nil, err
	}
	r := &running{
		supervisor: supervisor, control: control.ours, output: newPump(out.ours, output),
		report: make(chan []byte, 1), exited: make(chan struct{}), started: time.Now(),
	}
	go r.listen(reports.ours)
	go r.reap()
	r.send(p)
	return r, nil
}

// send gives the first order. Where that fails, the supervisor is dead or dying, and its report says more than the
// error would.
func (r *running) send(p plan) {
	_ = r.control.SetWriteDeadline(time.Now().Add(killGrace))
	_ = json.NewEncoder(r.control).Encode(order{Start: &p})
}

// listen reads the report, and drops what is beyond the limit rather than block the one who writes it.
func (r *running) listen(pipe *os.File) {
	defer pipe.Close()
	text, _ := io.ReadAll(io.LimitReader(pipe, reportLimit))
	_, _ = io.Copy(io.Discard, pipe)
	r.report <- text
}

func (r *running) reap() {
	_ = r.supervisor.Wait() // how it ended is in the report, or there is none
	close(r.exited)
}

// wait returns the report when everything is dead. When ctx ends, it sees to that first.
func (r *running) wait(ctx context.Context) (report, error) {
	select {
	case <-r.exited:
		r.output.drain(ctx)
		return r.last()
	case <-ctx.Done():
	}
	r.control.Close()
	select {
	case <-r.exited:
	case <-time.After(killGrace):
		_ = r.supervisor.Process.Kill() // takes PID 1 of the command's namespace with it
	}
	r.output.drain(ctx)
	select {
	case <-r.exited:
		return r.last()
	case <-time.After(killGrace): // not even SIGKILL ends a process that waits for a dead disk
		return report{}, errors.New("sandbox: the supervisor cannot be killed")
	}
}

// last reads what the supervisor said at its end: a line of JSON, or the text of a crash.
func (r *running) last() (report, error) {
	var end report
	text := <-r.report
	if err := json.Unmarshal(text, &end); err != nil {
		return end, fmt.Errorf("sandbox: the supervisor died without a report: %q", firstLine(string(text)))
	}
	if end.Trouble != "" {
		return end, errors.New(end.Trouble)
	}
	return end, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// result decides the outcome, in this one place. A command that ended by itself has its result, also where the cancel
// came in the same moment.
func (r *running) result(ctx context.Context, end report, err error) (domain.CommandResult, error) {
	result := domain.CommandResult{ExitCode: end.ExitCode, Duration: time.Since(r.started)}
	stopped := ctx.Err() != nil && (end.Killed || err != nil)
	switch {
	case stopped && errors.Is(context.Cause(ctx), errTimeout):
		result.ExitCode, result.TimedOut = 128+int(syscall.SIGKILL), true
		return result, nil
	case stopped:
		return result, context.Cause(ctx)
	case err != nil:
		return domain.CommandResult{}, domain.Errorf(domain.CodeSandboxUnavailable,
			"The sandbox could not run the command: %s", reason(err)).With(err)
	}
	return result, r.output.failure()
}

func (r *running) close() {
	r.control.Close()
	r.output.stop()
}

// pipes collects pipe ends, so that each is closed once on every way out.
type pipes struct {
	all []pipe
	err error
}

type pipe struct{ ours, theirs *os.File }

func (p *pipes) fromChild() pipe {
	ours, theirs, err := os.Pipe()
	return p.add(pipe{ours, theirs}, err)
}

func (p *pipes) toChild() pipe {
	theirs, ours, err := os.Pipe()
	return p.add(pipe{ours, theirs}, err)
}

func (p *pipes) add(one pipe, err error) pipe {
	if err != nil {
		p.err = err
		return pipe{}
	}
	p.all = append(p.all, one)
	return one
}

func (p *pipes) closeTheirs() {
	for _, one := range p.all {
		one.theirs.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, one := range p.all {
		one.ours.Close()
	}
}
