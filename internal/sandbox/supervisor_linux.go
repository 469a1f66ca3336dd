package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor runs one command and buries all that came of it. One goroutine does everything that has to do with
// children: only it waits for them, so a process id in its hands cannot have become somebody else's.
type supervisor struct {
	plan    plan
	child   int // what was started: bubblewrap, a warden or confine
	life    *os.File
	trouble chan string
	status  syscall.WaitStatus
	ended   bool // child has, and status is its own
	killed  bool // by order
	excess  string
}

const (
	censusInterval = 50 * time.Millisecond
	killInterval   = 2 * time.Millisecond // between two rounds: each round's dead leave their children to us
	troubleLimit   = 4 << 10
)

// supervise is the stage below the server. It ends when nothing is left below it.
func supervise() int {
	runtime.LockOSThread() // the parent-death signal of a child means the thread that forked it
	unix.CloseOnExec(int(os.Stderr.Fd()))
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return complain(err)
	}
	orders := json.NewDecoder(os.Stdin)
	var first order
	if err := orders.Decode(&first); err != nil || first.Start == nil {
		return complain(fmt.Errorf("sandbox: no order to start anything: %w", err))
	}
	s := &supervisor{plan: *first.Start, trouble: make(chan string, 1)}
	_ = json.NewEncoder(os.Stderr).Encode(s.run(orders))
	return 0
}

func (s *supervisor) run(orders *json.Decoder) report {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	over := make(chan struct{})
	go watch(orders, over)

	if err := s.launch(); err != nil {
		return report{Trouble: err.Error()}
	}
	s.bury(deaths, stop, over)
	return s.report()
}

// watch reads orders until the pipe ends, which is the order to kill.
func watch(orders *json.Decoder, over chan<- struct{}) {
	defer close(over)
	for {
		var next order
		if orders.Decode(&next) != nil {
			return
		}
	}
}

// bury returns when no child is left. It kills whatever outlives the command, and everything as soon as it is told to.
func (s *supervisor) bury(deaths, stop <-chan os.Signal, over <-chan struct{}) {
	tick := time.NewTicker(censusInterval)
	defer tick.Stop()
	for !s.reap() {
		if s.killing() {
			killChildren()
			tick.Reset(killInterval)
		}
		select {
		case <-deaths:
		case <-tick.C:
			s.census()
		case <-stop:
			s.killed = true
		case <-over:
			s.killed, over = true, nil
		}
	}
}

func (s *supervisor) killing() bool { return s.ended || s.killed || s.excess != "" }

// reap collects the dead, and tells whether there is nobody left.
func (s *supervisor) reap() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return true
		case err == syscall.EINTR:
		case pid <= 0:
			return false
		case pid == s.child:
			s.status, s.ended = status, true
		}
	}
}

// killChildren kills those directly below. Their own children come to us as to the next subreaper and are killed in
// the next round; those in a PID namespace die with its PID 1. So no id is used that somebody else may have waited for.
func killChildren() {
	for _, pid := range children(os.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// census kills a tree that has grown too large. A limit per process would not see a fork bomb of root's, which the
// kernel exempts from RLIMIT_NPROC, nor many processes that share out the memory.
func (s *supervisor) census() {
	if s.killing() {
		return
	}
	processes, memory := count(os.Getpid())
	switch {
	case processes > maxProcesses:
		s.excess = fmt.Sprintf("more than %d processes", maxProcesses)
	case memory > s.plan.Memory:
		s.excess = fmt.Sprintf("more than %d MiB of memory", s.plan.Memory>>20)
	}
}

func (s *supervisor) report() report {
	s.life.Close()
	text, isReady := strings.CutSuffix(<-s.trouble, ready)
	if !isReady && !s.killed {
		if text = firstLine(text); text == "" {
			text = fmt.Sprintf("sandbox: %s ended with %d before the command was reached", s.plan.Method, exitCode(s.status))
		}
		return report{Trouble: text}
	}
	if s.excess != "" {
		fmt.Printf("\nsignoff: killed, because it used %s\n", s.excess)
		return report{ExitCode: 128 + int(unix.SIGKILL)}
	}
	return report{ExitCode: exitCode(s.status), Killed: s.killed}
}

// exitCode is as a shell tells it. The stages pass it on in this form.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// launch starts the first stage below. Its standard input is a pipe that ends with this process.
func (s *supervisor) launch() error {
	life, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer life.Close()
	trouble, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	binary, err := os.Open(self)
	if err != nil {
		return err
	}
	defer binary.Close()
	s.life = ours
	s.child, err = s.plan.fork([]uintptr{life.Fd(), 1, theirs.Fd(), binary.Fd()})
	if err != nil {
		return fmt.Errorf("sandbox: starting %s: %w", s.plan.Method, err)
	}
	go s.hear(trouble)
	return nil
}

// hear collects what the stages complain about. They all have the pipe open, so it ends when they are dead.
func (s *supervisor) hear(trouble *os.File) {
	text, _ := io.ReadAll(io.LimitReader(trouble, troubleLimit))
	_, _ = io.Copy(io.Discard, trouble)
	s.trouble <- string(text)
}

// binaryFD is where bubblewrap finds this binary, which does not exist inside the walls.
const binaryFD = 3

// fork starts what the method begins with.
func (p plan) fork(files []uintptr) (int, error) {
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.environment(), Files: files, Sys: &syscall.SysProcAttr{}}
	attr.Sys.Pdeathsig = syscall.SIGKILL
	attr.Sys.Setsid = true
	switch {
	case p.Method == byBubblewrap && !privileged():
		return syscall.ForkExec(p.Tools.Bubblewrap, p.bubblewrap(), attr)
	case p.Method == bySubreaper:
		return syscall.ForkExec(self, p.stage(confineArg), attr)
	default:
		attr.Dir = "/"
		p.unshare(attr.Sys)
		return syscall.ForkExec(self, p.stage(wardenArg), attr)
	}
}
