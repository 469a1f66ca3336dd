package sandbox

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor runs one command and waits for all of its processes. One goroutine does all that concerns children:
// only it waits for them, so none of its process ids can belong to another process by now.
type supervisor struct {
	plan     plan
	child    int // the first stage: bubblewrap, a watchdog or confine
	life     *os.File
	trouble  chan string // text of the stages; closed when all of them have closed the pipe
	lease    *lease
	status   syscall.WaitStatus
	ended    bool // child has, and status is its own
	killed   bool // by order, or with the lease
	lapsed   bool // with the lease
	excess   string
	isolated bool   // and only the exec is left
	reached  bool   // the program was, or is about to be, executed
	problem  string // why not
}

const (
	censusInterval  = 50 * time.Millisecond
	killInterval    = 2 * time.Millisecond // between two rounds: each round's dead leave their children to us
	maxKillInterval = 64 * time.Millisecond
	troubleLimit    = 4 << 10
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
	lease, err := inheritedLease()
	if err != nil {
		return complain(err)
	}
	s := &supervisor{plan: *first.Start, lease: lease, trouble: make(chan string, 2)}
	_ = json.NewEncoder(os.Stderr).Encode(s.run(orders))
	return 0
}

func (s *supervisor) run(orders *json.Decoder) report {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	requests := make(chan struct{})
	go readOrders(orders, requests)

	alarm, err := newAlarm()
	if err != nil {
		return report{Trouble: err.Error()}
	}
	if s.lease.isOver() {
		return report{Trouble: "sandbox: the server's lease is over, so nothing is started"}
	}
	fmt.Fprint(os.Stderr, starting)
	if err := s.launch(); err != nil {
		return report{Trouble: err.Error()}
	}
	over := make(chan struct{})
	go s.lease.awaitEnd(alarm, over)
	s.waitForTree(deaths, stop, requests, over)
	moved := s.plan.quarantine()
	for _, one := range moved { // printed last: when the server is dead, the first write kills this process
		fmt.Printf("\nsignoff: put away, because programs outside would take orders from it: %s\n", one)
	}
	return s.report()
}

// readOrders passes on each order to terminate, until the pipe ends, which is the order to kill.
func readOrders(orders *json.Decoder, requests chan<- struct{}) {
	defer close(requests)
	for {
		var next order
		if orders.Decode(&next) != nil {
			return
		}
		if next.Terminate {
			requests <- struct{}{}
		}
	}
}

// waitForTree returns when no child is left. It kills all that outlives the command, and everything as soon as it is asked to. Between two deaths its
// rounds become rarer: on a machine without a free processor, dozens of supervisors that look every few milliseconds keep what they have killed from ending.
func (s *supervisor) waitForTree(deaths, stop <-chan os.Signal, requests, over <-chan struct{}) {
	tick := time.NewTicker(censusInterval)
	defer tick.Stop()
	if s.plan.Process {
		tick.Stop() // a process has no census, and may sit still for hours
	}
	pause := killInterval
	for !s.reap() {
		if s.killing() {
			killChildren()
			tick.Reset(pause)
			pause = min(2*pause, maxKillInterval)
		}
		select {
		case <-deaths:
			pause = killInterval
		case <-tick.C:
			s.census()
		case text, more := <-s.trouble:
			s.noteTrouble(text, more)
		case <-stop:
			s.killed = true
		case <-over:
			s.killed, s.lapsed, over = true, true, nil
		case _, more := <-requests:
			if more {
				s.terminate()
			} else {
				s.killed, requests = true, nil
			}
		}
	}
}

// terminate asks the program itself. Below a watchdog it has no process id here, so the watchdog forwards the signal.
func (s *supervisor) terminate() {
	if !s.ended {
		_ = unix.Kill(s.child, unix.SIGTERM)
	}
}

// noteTrouble handles the text of the stages. A command has begun when it is isolated: that its program cannot be
// executed is for its output to say. A process has begun when its pipe ends and nothing follows, since the exec closes it.
func (s *supervisor) noteTrouble(text string, more bool) {
	switch {
	case !more:
		s.trouble = nil
		if s.plan.Process && s.isolated && s.problem == "" && !s.reached {
			s.noteBegun()
		}
	case text == ready:
		s.isolated = true
		if !s.plan.Process || s.plan.Method == byBubblewrap { // bubblewrap keeps the pipe open for as long as its process lives
			s.noteBegun()
		}
	default:
		s.problem = cmp.Or(s.problem, firstLine(text))
	}
}

func (s *supervisor) noteBegun() {
	s.reached = true
	fmt.Fprint(os.Stderr, begun)
}

func (s *supervisor) killing() bool { return s.ended || s.killed || s.excess != "" }

// reap collects the dead, and reports whether no child is left.
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
	for s.trouble != nil {
		text, more := <-s.trouble
		s.noteTrouble(text, more)
	}
	if !s.reached && !s.killed {
		if s.problem == "" {
			s.problem = fmt.Sprintf("sandbox: %s ended with %d before the command was reached", s.plan.Method, exitCode(s.status))
		}
		return report{Trouble: s.problem}
	}
	if s.excess != "" {
		fmt.Printf("\nsignoff: killed, because it used %s\n", s.excess)
		return report{ExitCode: 128 + int(unix.SIGKILL), Begun: true}
	}
	return report{ExitCode: exitCode(s.status), Begun: s.reached, Killed: s.killed, Lapsed: s.lapsed}
}

// launch starts the first stage below. Its standard input is a pipe that ends with this process.
func (s *supervisor) launch() error {
	var pipes pipes
	defer pipes.closeTheirs()
	life, environment, trouble := pipes.toChild(), pipes.toChild(), pipes.fromChild()
	if pipes.err != nil {
		return pipes.err
	}
	binary, err := os.Open(self)
	if err != nil {
		return err
	}
	defer binary.Close()
	files := []uintptr{life.theirs.Fd(), 1, trouble.theirs.Fd(), binary.Fd(), environment.theirs.Fd()}
	if s.plan.Process {
		files = append(files, handedInput, handedErrors)
		defer releaseStreams()
	}
	if s.plan.Online {
		files = append(files, uintptr(s.plan.handedRelay()))
		defer unix.Close(s.plan.handedRelay())
	}
	for i := range s.plan.View.files() { // the same order in each stage, after the relay
		handed := s.plan.handedFile() + i
		files = append(files, uintptr(handed))
		defer unix.Close(handed)
	}
	s.life = life.ours
	if s.child, err = s.plan.fork(files); err != nil {
		return fmt.Errorf("sandbox: starting %s: %w", s.plan.Method, err)
	}
	if !s.plan.Process {
		_ = unix.Setpriority(unix.PRIO_PGRP, s.child, commandNice) // the isolation of hundreds is much work, too
	}
	go readTrouble(trouble.ours, s.trouble)
	go s.plan.sendEnvironment(environment.ours)
	return nil
}

// releaseStreams closes the streams of a process here: while somebody else holds an end, the other side does not see that
// the process has closed its own.
func releaseStreams() {
	_ = unix.Dup3(int(os.Stderr.Fd()), int(os.Stdout.Fd()), unix.O_CLOEXEC)
	_ = unix.Close(handedInput)
	_ = unix.Close(handedErrors)
}

// readTrouble forwards the text of the stages, until all of them have closed the pipe: that the command is ready, at once and
// however many complaints came before, and the complaints up to a limit.
func readTrouble(pipe *os.File, trouble chan<- string) {
	defer close(trouble)
	text := bufio.NewReaderSize(pipe, troubleLimit)
	for left := troubleLimit; ; {
		line, err := text.ReadSlice('\n')
		switch {
		case string(line) == ready:
			trouble <- ready
		case len(line) > 0 && left > 0:
			trouble <- string(line[:min(len(line), left)])
			left -= len(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// sendEnvironment writes the environment for the last stage. It is not among the arguments, which everybody on this machine
// can read. If it does not arrive whole, that stage fails to decode the list.
func (p plan) sendEnvironment(pipe *os.File) {
	defer pipe.Close()
	_ = json.NewEncoder(pipe).Encode(p.environment())
}

// fork starts the first stage of the method.
func (p plan) fork(files []uintptr) (int, error) {
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.stageEnvironment(), Files: files, Sys: &syscall.SysProcAttr{}}
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
		return syscall.ForkExec(self, p.stage(watchdogArg), attr)
	}
}
