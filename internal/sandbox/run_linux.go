package sandbox

import (
	"bufio"
	"cmp"
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

// order is a message of the server to a supervisor. The first one starts the command; the end of the pipe kills it.
type order struct {
	Start     *plan `json:",omitempty"`
	Terminate bool  `json:",omitempty"` // ask the program to end by itself
}

// The lines that a supervisor writes before its report. Where it dies without a report, they tell whether the command
// may have run.
const (
	starting = "signoff: starting\n" // it has its order; from now on the command may begin
	begun    = "signoff: begun\n"    // the command or the [Process] runs
)

// report is the last message of a supervisor: everything below it is dead.
type report struct {
	ExitCode int
	Begun    bool   // the command ran; where there was no report, it may have
	Killed   bool   // by order or with the lease, not by itself
	Lapsed   bool   // with the lease
	Trouble  string // why the command was never started
}

const (
	killGrace   = 1500 * time.Millisecond // for a supervisor to kill its tree
	reportLimit = 64 << 10
)

var errLapsed = domain.Errorf(domain.CodeToolFailed, "The command was killed, because this server's lease is over.")

// cutOff is the error of a command that may have run in part.
func cutOff(why error) error {
	return domain.Errorf(domain.CodeToolFailed, "The command was cut off, and nobody knows how far it came. The sandbox says: %s", reason(why)).With(why)
}

var (
	errTimeout  = errors.New("sandbox: the command's time is up")
	errNotBegun = errors.New("sandbox: the time to start the command is up")
)

// running is one supervisor, seen from the server.
type running struct {
	supervisor *exec.Cmd
	control    *os.File   // closing it kills
	orders     chan order // one writer sends them, however long the supervisor takes to read them
	begun      chan struct{}
	since      time.Time // when it began; to be read when begun is closed
	report     chan string
	launched   bool          // it may have begun; to be read when report has delivered
	exited     chan struct{} // the supervisor is dead, and has been waited for
}

// job is a running command with its output.
type job struct {
	*running
	output *pump
	proxy  Proxy // nil without network
}

func (p plan) run(ctx context.Context, timeout time.Duration, output io.Writer) (domain.CommandResult, error) {
	started, err := p.Starts.enter(ctx)
	if err != nil {
		return domain.CommandResult{}, err
	}
	j, err := p.begin(output)
	if err != nil {
		started()
		return domain.CommandResult{}, notStarted(err)
	}
	defer j.close()
	go j.awaitStart(started)
	limited, stop := j.limit(ctx, p.StartLimit, timeout)
	defer stop()
	end, err := j.wait(limited)
	failpoint.Hit(failpoint.AfterCommand)
	j.disconnect()
	return j.result(limited, end, err)
}

func (p plan) begin(output io.Writer) (*job, error) {
	var pipes pipes
	out := pipes.fromChild()
	if err := p.View.belong(out.theirs); err != nil {
		pipes.closeTheirs()
		pipes.closeOurs()
		return nil, err
	}
	var relay []pipe
	if p.Online {
		relay = append(relay, pipes.relaySocket())
	}
	r, err := p.start(&pipes, out, relay...)
	if err != nil {
		return nil, err
	}
	j := &job{running: r, output: newPump(&stream{pipe: out.ours}, output)}
	for _, one := range relay {
		j.proxy = p.Proxy
		j.proxy.Start(one.ours)
	}
	return j, nil
}

// limit returns a context that ends when the command has not begun in time, and when its own time is up, which counts from
// the moment in which it began: a busy machine must not take the command's time. 0 is no timeout.
func (j *job) limit(ctx context.Context, start, timeout time.Duration) (context.Context, context.CancelFunc) {
	limited, end := context.WithCancelCause(ctx)
	go func() {
		timer := time.NewTimer(start)
		defer timer.Stop()
		select {
		case <-j.begun:
		case <-timer.C:
			end(errNotBegun)
			return
		case <-limited.Done():
			return
		}
		if timeout == 0 {
			return
		}
		timer.Reset(timeout)
		select {
		case <-timer.C:
			end(errTimeout)
		case <-limited.Done():
		}
	}()
	return limited, func() { end(nil) }
}

// disconnect ends the command's network, and appends a line about its use.
func (j *job) disconnect() {
	if j.proxy == nil {
		return
	}
	j.proxy.Close()
	j.output.write([]byte(j.proxy.Traffic()))
}

// start starts a supervisor with the output that it hands on, and further pipes: of a [Process], or the relay socket. Its session is its own,
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
		Path: program, Args: []string{"signoff", superviseArg}, Dir: "/", Env: p.stageEnvironment(),
		Stdin: control.theirs, Stdout: output.theirs, Stderr: reports.theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	supervisor.ExtraFiles = append(supervisor.ExtraFiles, p.Lease.readOnly)
	for _, one := range further {
		supervisor.ExtraFiles = append(supervisor.ExtraFiles, one.theirs)
	}
	supervisor.ExtraFiles = append(supervisor.ExtraFiles, p.Files...)
	failpoint.Hit(failpoint.BeforeSpawn)
	if err := supervisor.Start(); err != nil {
		pipes.closeOurs()
		return nil, err
	}
	failpoint.Hit(failpoint.AfterSpawn)
	if p.Spawned != nil {
		p.Spawned(supervisor.Process.Pid)
	}
	r := &running{
		supervisor: supervisor, control: control.ours, orders: make(chan order, 2), begun: make(chan struct{}),
		report: make(chan string, 1), exited: make(chan struct{}),
	}
	go r.listen(reports.ours)
	go func() {
		_ = supervisor.Wait() // how it ended is in the report, or there is none
		close(r.exited)
	}()
	r.orders <- order{Start: &p}
	go r.sendOrders()
	failpoint.Hit(failpoint.AfterStartOrder)
	return r, nil
}

// sendOrders writes the orders in turn. It has no deadline: a supervisor on a busy machine may not read for seconds, and the
// pipe may be smaller than the order. Who gives up on a supervisor closes the pipe, which ends the writing. Half an order
// must not leave a supervisor that waits for the rest, so where writing fails the pipe is closed, too; the supervisor then
// says that it has no order, or is dead.
func (r *running) sendOrders() {
	encoder := json.NewEncoder(r.control)
	for {
		select {
		case next := <-r.orders:
			if encoder.Encode(next) != nil {
				r.control.Close()
				return
			}
		case <-r.exited:
			return
		}
	}
}

// terminate asks the program to end by itself. One such order that waits to be read is enough.
func (r *running) terminate() {
	select {
	case r.orders <- order{Terminate: true}:
	default:
	}
}

// listen reads the report, and drops text beyond the limit rather than block the writer.
func (r *running) listen(pipe *os.File) {
	defer pipe.Close()
	text := bufio.NewReader(io.LimitReader(pipe, reportLimit))
	line, _ := text.ReadString('\n')
	if line == starting {
		r.launched = true
		line, _ = text.ReadString('\n')
	}
	if line == begun {
		r.since = time.Now()
		close(r.begun)
		line = ""
	}
	rest, _ := io.ReadAll(text)
	_, _ = io.Copy(io.Discard, pipe)
	r.report <- line + string(rest)
}

// awaitStart calls started when the command runs, or never will.
func (r *running) awaitStart(started func()) {
	select {
	case <-r.begun:
	case <-r.exited:
	}
	started()
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
		return report{Begun: true}, errors.New("sandbox: the supervisor cannot be killed")
	}
}

// last reads the last message of the supervisor: a line of JSON, or the text of a crash.
func (r *running) last() (report, error) {
	var end report
	text := <-r.report
	if err := json.Unmarshal([]byte(text), &end); err != nil {
		return report{Begun: r.launched}, fmt.Errorf("sandbox: the supervisor died without a report: %q", firstLine(text))
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

// result alone decides the outcome. A command that ended by itself has its result, also where the cancel
// came in the same moment.
func (j *job) result(ctx context.Context, end report, err error) (domain.CommandResult, error) {
	result := domain.CommandResult{ExitCode: end.ExitCode, Duration: j.duration()}
	stopped := ctx.Err() != nil && (end.Killed || err != nil)
	why := context.Cause(ctx)
	switch {
	case stopped && errors.Is(why, errNotBegun) && !end.Begun:
		return domain.CommandResult{}, notStarted(cmp.Or(err, why))
	case stopped && errors.Is(why, errTimeout):
		result.ExitCode, result.TimedOut = 128+int(syscall.SIGKILL), true
		return result, nil
	case stopped && !errors.Is(why, errNotBegun):
		return result, why
	case err != nil && !end.Begun:
		return domain.CommandResult{}, notStarted(err)
	case err != nil:
		return domain.CommandResult{}, cutOff(err)
	case end.Lapsed && !end.Begun:
		return domain.CommandResult{}, notStarted(errors.New("the server's lease is over"))
	case end.Lapsed:
		return domain.CommandResult{}, errLapsed
	case stopped:
		return domain.CommandResult{}, cutOff(why)
	}
	return result, j.output.failure()
}

// duration is how long the command has run; 0 where it has not begun.
func (r *running) duration() time.Duration {
	select {
	case <-r.begun:
		return time.Since(r.since)
	default:
		return 0
	}
}

// notStarted is the error of a command that has certainly not run, so that the caller may try again.
func notStarted(why error) error {
	return domain.Errorf(domain.CodeNotStarted, "The command did not begin, so nothing of it has run; it may be tried again. "+
		"The sandbox says: %s", reason(why)).With(why)
}

func (j *job) close() {
	j.control.Close()
	j.output.stop()
}
