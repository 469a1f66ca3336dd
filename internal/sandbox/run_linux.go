package sandbox

import (
	"bufio"
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
	"signoff/internal/failpoint"
)

// order is what the server tells a supervisor. The first one starts the command; the end of the pipe kills it.
type order struct {
	Start     *plan `json:",omitempty"`
	Terminate bool  `json:",omitempty"` // ask the program to end by itself
}

// begun is the line that a supervisor writes before its report as soon as a [Process] runs.
const begun = "signoff: begun\n"

// report is the last thing that a supervisor says: everything below it is dead.
type report struct {
	ExitCode int
	Killed   bool   // by order or with the lease, not by itself
	Lapsed   bool   // with the lease
	Trouble  string // why the command was never started
}

const (
	killGrace   = 1500 * time.Millisecond // for a supervisor to bury its tree
	outputGrace = 500 * time.Millisecond  // for a blocked writer, when everything is dead
	reportLimit = 64 << 10
)

var errLapsed = domain.Errorf(domain.CodeToolFailed, "The command was killed, because this server's lease is over.")

var errTimeout = errors.New("sandbox: the command's time is up")

// running is one supervisor, seen from the server.
type running struct {
	supervisor *exec.Cmd
	control    *os.File // closing it kills
	begun      chan struct{}
	report     chan string
	exited     chan struct{} // the supervisor is dead, and has been waited for
}

// job is a running command with its output.
type job struct {
	*running
	output  *pump
	proxy   Proxy // nil without network
	started time.Time
}

func (p plan) run(ctx context.Context, timeout time.Duration, output io.Writer) (domain.CommandResult, error) {
	j, err := p.begin(output)
	if err != nil {
		return domain.CommandResult{}, domain.Errorf(domain.CodeSandboxUnavailable,
			"The command could not be started.").With(err)
	}
	defer j.close()
	limited := ctx
	if timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer stop()
	}
	end, err := j.wait(limited)
	failpoint.Hit(failpoint.SandboxCommandEnded)
	j.disconnect()
	return j.result(limited, end, err)
}

func (p plan) begin(output io.Writer) (*job, error) {
	var pipes pipes
	out := pipes.fromChild()
	var courier []pipe
	if p.Online {
		courier = append(courier, pipes.courier())
	}
	r, err := p.start(&pipes, out, courier...)
	if err != nil {
		return nil, err
	}
	j := &job{running: r, output: newPump(&stream{pipe: out.ours}, output), started: time.Now()}
	for _, one := range courier {
		j.proxy = p.Proxy
		j.proxy.Start(one.ours)
	}
	return j, nil
}

// disconnect ends the command's network, and says last what it was used for.
func (j *job) disconnect() {
	if j.proxy == nil {
		return
	}
	j.proxy.Close()
	j.output.write([]byte(j.proxy.Traffic()))
}

// start starts a supervisor with the output that it hands on, and further pipes: of a [Process], or for a door. Its session is its own,
// so that a Ctrl-C at the server's terminal reaches the server alone, which then ends its commands in order.
func (p plan) start(pipes *pipes, output pipe, further ...pipe) (*running, error) {
	defer pipes.closeTheirs() // a pipe ends only when we do not hold its other end ourselves
	control := pipes.toChild()
	reports := pipes.fromChild()
	if pipes.err != nil {
		pipes.closeOurs()
		return nil, pipes.err
	}
	supervisor := &exec.Cmd{
		Path: self, Args: []string{"signoff", superviseArg}, Dir: "/", Env: p.stageEnvironment(),
		Stdin: control.theirs, Stdout: output.theirs, Stderr: reports.theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	supervisor.ExtraFiles = append(supervisor.ExtraFiles, p.Lease.readOnly)
	for _, one := range further {
		supervisor.ExtraFiles = append(supervisor.ExtraFiles, one.theirs)
	}
	failpoint.Hit(failpoint.SandboxBeforeSpawn)
	if err := supervisor.Start(); err != nil {
		pipes.closeOurs()
		return nil, err
	}
	failpoint.Hit(failpoint.SandboxSpawned)
	r := &running{
		supervisor: supervisor, control: control.ours, begun: make(chan struct{}),
		report: make(chan string, 1), exited: make(chan struct{}),
	}
	go r.listen(reports.ours)
	go r.reap()
	r.send(order{Start: &p})
	failpoint.Hit(failpoint.SandboxOrdered)
	return r, nil
}

// send gives an order. Where that fails, the supervisor is dead or dying, and its report says more than the error would.
func (r *running) send(next order) {
	_ = r.control.SetWriteDeadline(time.Now().Add(killGrace))
	_ = json.NewEncoder(r.control).Encode(next)
}

// listen reads the report, and drops what is beyond the limit rather than block the one who writes it.
func (r *running) listen(pipe *os.File) {
	defer pipe.Close()
	text := bufio.NewReader(io.LimitReader(pipe, reportLimit))
	line, _ := text.ReadString('\n')
	if line == begun {
		close(r.begun)
		line = ""
	}
	rest, _ := io.ReadAll(text)
	_, _ = io.Copy(io.Discard, pipe)
	r.report <- line + string(rest)
}

func (r *running) reap() {
	_ = r.supervisor.Wait() // how it ended is in the report, or there is none
	close(r.exited)
}

// stop has the supervisor kill everything, and kills a supervisor that does not get it done.
func (r *running) stop() {
	r.control.Close()
	select {
	case <-r.exited:
	case <-time.After(killGrace):
		_ = r.supervisor.Process.Kill() // takes PID 1 of the namespace with it
	}
}

// wait returns the report when everything is dead. When ctx ends, it sees to that first.
func (j *job) wait(ctx context.Context) (report, error) {
	select {
	case <-j.exited:
		j.output.drain(ctx)
		return j.last()
	case <-ctx.Done():
	}
	j.stop()
	j.output.drain(ctx)
	select {
	case <-j.exited:
		return j.last()
	case <-time.After(killGrace): // not even SIGKILL ends a process that waits for a dead disk
		return report{}, errors.New("sandbox: the supervisor cannot be killed")
	}
}

// last reads what the supervisor said at its end: a line of JSON, or the text of a crash.
func (r *running) last() (report, error) {
	var end report
	text := <-r.report
	if err := json.Unmarshal([]byte(text), &end); err != nil {
		return end, fmt.Errorf("sandbox: the supervisor died without a report: %q", firstLine(text))
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
func (j *job) result(ctx context.Context, end report, err error) (domain.CommandResult, error) {
	result := domain.CommandResult{ExitCode: end.ExitCode, Duration: time.Since(j.started)}
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
	if end.Lapsed {
		return domain.CommandResult{}, errLapsed
	}
	return result, j.output.failure()
}

func (j *job) close() {
	j.control.Close()
	j.output.stop()
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
