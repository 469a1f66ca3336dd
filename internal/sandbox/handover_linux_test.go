package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// Tests of the hand-over from the server to a supervisor that gets no processor time, as on a machine under load.

// large is more than a pipe holds, so it cannot be handed over before somebody reads it.
var large = "LARGE=" + strings.Repeat("x", 100_000)

// stopsFirst stops the next supervisor before it has its order, and returns how to let it go on.
func stopsFirst(t *testing.T, s *Sandbox) (goOn func()) {
	t.Helper()
	stopped := make(chan int, 1)
	s.spawned = func(pid int) {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Error(err)
		}
		stopped <- pid
	}
	return func() { _ = unix.Kill(<-stopped, unix.SIGCONT) }
}

// TestSupervisorThatReadsLateGetsItsWholeOrder leaves a supervisor without processor time for longer than the server once
// waited, and for longer than its command may take. The command must run, and the wait must not count as its time.
func TestSupervisorThatReadsLateGetsItsWholeOrder(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		output, result := inTime(t, func(timeout time.Duration) (string, domain.CommandResult, bool) {
			wait := timeout + 500*time.Millisecond
			goOn := stopsFirst(t, s)
			go func() {
				time.Sleep(wait)
				goOn()
			}()
			started := time.Now()
			output, result := run(t, s, domain.Command{Argv: []string{"sh", "-c", "echo ${#LARGE}"}, Dir: folder(t), Env: []string{large}, Timeout: timeout})
			if took := time.Since(started); result.Duration > took-wait {
				t.Errorf("the wait of %v counts as the command's: %v of %v", wait, result.Duration, took)
			}
			return output, result, !result.TimedOut
		})
		if output != "100000\n" || result.TimedOut || result.ExitCode != 0 {
			t.Errorf("%+v, output %q", result, output)
		}
	})
}

// TestCommandThatNeverBeganIsNotCalledKilled gives up on a supervisor that gets no processor time at all.
func TestCommandThatNeverBeganIsNotCalledKilled(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		s.startLimit = time.Second
		goOn := stopsFirst(t, s)
		defer goOn()
		dir := folder(t)
		result, err := s.Run(t.Context(), domain.Command{
			Argv: []string{"sh", "-c", "echo ran > ran"}, Dir: dir, Env: []string{large}, Timeout: 3 * time.Second,
		}, io.Discard)
		if domain.CodeOf(err) != domain.CodeNotStarted {
			t.Errorf("%+v, %v", result, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it has run: %v", err)
		}
	})
}

// TestStartsTakeTurns holds the only turn: the next command waits for it, and a cancel ends the wait.
func TestStartsTakeTurns(t *testing.T) {
	s := open(byPIDNamespace)
	s.starts = make(starts, 1)
	done, err := s.starts.enter(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	command := domain.Command{Argv: []string{"true"}, Dir: folder(t)}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := s.Run(ctx, command, io.Discard); !errors.Is(err, context.Canceled) {
			t.Errorf("it did not wait: %v", err)
		}
	})
	cancel()
	waiting.Wait()
	done()
	for range 3 { // each gives its turn back when it has begun
		run(t, s, command)
	}
	begin(t, s, "sleep 300")
	run(t, s, command)
}

// TestCommandsGiveWay looks at the command and, where a stage of ours starts it, at PID 1, which builds its isolation. An ordinary user's
// bubblewrap forks PID 1 at once: the supervisor lowers it, but on a busy machine too late.
func TestCommandsGiveWay(t *testing.T) {
	niceness := commandNice
	if os.Getuid() != 0 { // and cannot raise what these tests were started with
		own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // of the system call: 20 less the niceness
		must(t, err)
		niceness = max(niceness, 20-own)
	}
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		output, _ := shell(t, s, folder(t), "nice; cut -d ' ' -f 19 /proc/1/stat")
		command, first, _ := strings.Cut(strings.TrimSpace(output), "\n")
		want := strconv.Itoa(niceness)
		if command != want || os.Getuid() == 0 && first != want {
			t.Errorf("%q, want %s", output, want)
		}
	})
}
