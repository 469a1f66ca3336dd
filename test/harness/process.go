package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a process that somebody waits for from its start on. Any number of goroutines may use it.
type Process struct {
	command *exec.Cmd
	exited  chan struct{}
}

// Start starts a process, in a group of its own, that dies with this program, however this one ends: by SIGKILL, or the signal that the command says.
//
// The kernel kills a child at the death of the thread that started it, not of the program. All children are therefore started by one
// thread that lives as long as the program: threads that mount things end early, and once took other tests' servers along.
func Start(command *exec.Cmd) (*Process, error) {
	attributes(command)
	return watch(command, starter().do(command.Start))
}

// StartHere is Start by the calling thread, whose mounts the process is to live in. It dies with that thread.
func StartHere(command *exec.Cmd) (*Process, error) {
	attributes(command)
	return watch(command, command.Start())
}

func attributes(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithStarter(command.SysProcAttr)
	command.SysProcAttr.Setpgid = true
}

func watch(command *exec.Cmd, err error) (*Process, error) {
	if err != nil {
		return nil, err
	}
	p := &Process{command: command, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = command.Wait() // its state tells how it ended
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running tells whether the process has not ended. A nil process is none.
func (p *Process) Running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// End waits for the end of the process, and tells how it came.
func (p *Process) End() *os.ProcessState {
	<-p.exited
	return p.command.ProcessState
}

// Signal sends a signal. A process that has ended is no error.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.command.Process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill is SIGKILL, and waits for the end.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.exited
	}
	return err
}

// Stop is SIGTERM, and SIGKILL where that is not obeyed in time. It waits for the end, and tells whether the process obeyed. A process that
// is stopped by a signal goes on first, or it could not hear.
func (p *Process) Stop(patience time.Duration) (obeyed bool, err error) {
	if err := errors.Join(p.Signal(syscall.SIGCONT), p.Signal(syscall.SIGTERM)); err != nil {
		return false, err
	}
	select {
	case <-p.exited:
		return true, nil
	case <-time.After(patience):
		return false, p.Kill()
	}
}

// ErrExited is the end of a process that somebody waited for to do something.
var ErrExited = errors.New("the process has ended by itself")

// Await asks every millisecond until something holds. It fails with [ErrExited] where the process ends before, and with the cause of ctx.
func (p *Process) Await(ctx context.Context, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.exited:
			return ErrExited
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

var listens = regexp.MustCompile(`listens on (http://\S+)`)

// Address finds where a server listens in what it has printed; empty: it has not said so yet.
func Address(printed string) string {
	found := listens.FindStringSubmatch(printed)
	if found == nil {
		return ""
	}
	return found[1]
}

// Output keeps what a process prints. Its zero value is ready, and any number of goroutines may use it.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// thread runs functions one after the other, always on the same thread.
type thread chan func()

// starter is the thread of all processes that die with this program.
var starter = sync.OnceValue(func() thread {
	t := make(thread)
	go func() {
		runtime.LockOSThread() // for ever
		t.work()
	}()
	return t
})

// work runs the functions, until the channel is closed.
func (t thread) work() {
	for job := range t {
		job()
	}
}

// do waits for a function of its own.
func (t thread) do(call func() error) (err error) {
	done := make(chan struct{})
	t <- func() {
		defer close(done)
		err = call()
	}
	<-done
	return err
}
