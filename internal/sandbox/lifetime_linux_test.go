package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
)

// slack is how late something may come that is to come at once. Commands are niced, so their start takes long beside compilers of
// ordinary priority; and a process that nobody kills sleeps for five minutes.
const slack = time.Minute

func TestExitCodes(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -9 $$": 137, "kill -TERM $$": 143} {
			if _, result := shell(t, s, folder(t), script); result.ExitCode != want || result.TimedOut {
				t.Errorf("%s: %+v", script, result)
			}
		}
	})
}

func TestMissingProgram(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		write(t, filepath.Join(dir, "text"), "not a program")
		for program, want := range map[string]int{"no-such-program": 127, "./missing": 127, "./text": 126, "text": 127} {
			output, result := run(t, s, domain.Command{Argv: []string{program}, Dir: dir})
			if result.ExitCode != want || !strings.HasPrefix(output, "signoff: ") {
				t.Errorf("%s: exit code %d, output %q", program, result.ExitCode, output)
			}
		}
	})
}

func TestArgumentsArriveAsTheyAre(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		argv := []string{"printf", "%s|", "", " a  b ", "--help", "$HOME", "\n", "ü\u202e", `"'\`, strings.Repeat("x", 100_000)}
		output, _ := run(t, s, domain.Command{Argv: argv, Dir: folder(t)})
		if want := strings.Join(argv[2:], "|") + "|"; output != want {
			t.Errorf("got %.200q", output)
		}
	})
	for _, argv := range [][]string{nil, {""}, {"echo", "a\x00b"}, {"echo", "\xff"}} {
		_, err := open(byNamespaces).Run(t.Context(), domain.Command{Argv: argv, Dir: folder(t)}, io.Discard)
		if domain.CodeOf(err) != domain.CodeInvalidArguments {
			t.Errorf("%q: %v", argv, err)
		}
	}
	_, err := open(byNamespaces).Run(t.Context(), domain.Command{Argv: []string{"echo", strings.Repeat("x", 1<<20)}, Dir: folder(t)}, io.Discard)
	if err == nil {
		t.Error("an argument that no kernel takes has worked")
	}
}

func TestOutputIsOneStream(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		output, _ := shell(t, s, folder(t), "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; head -c 1000000 /dev/zero")
		if !strings.HasPrefix(output, "out 1\nerr 1\nout 2\nerr 2\n") || len(output) != 60+1_000_000 {
			t.Errorf("%d bytes: %.100q", len(output), output)
		}
	})
}

// TestNothingSurvives has a command leave processes behind in every way we know, and end.
func TestNothingSurvives(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		for name, script := range map[string]string{
			"background":      "sleep %s & sleep 0.1",
			"setsid":          "setsid sleep %s & sleep 0.1",
			"double fork":     "(setsid sh -c 'sleep %s & exit 0' &) ; sleep 0.1",
			"no output":       "setsid sleep %s > /dev/null 2>&1 < /dev/null & sleep 0.1",
			"ignores signals": "(trap '' TERM INT HUP; setsid sleep %s) & sleep 0.1",
			"stopped":         "setsid sleep %s & sleep 0.1; kill -STOP $!",
			"many":            "for i in 1 2 3 4 5 6 7 8 9; do (setsid sh -c '(sleep %[1]s; true) & sleep %[1]s' &) ; done; sleep 0.2",
		} {
			m := mark()
			started := time.Now()
			_, result := shell(t, s, folder(t), fmt.Sprintf(script, m))
			if took := time.Since(started); took > slack {
				t.Errorf("%s: took %v", name, took)
			}
			if result.ExitCode != 0 {
				t.Errorf("%s: exit code %d", name, result.ExitCode)
			}
			wantDead(t, m)
		}
	})
}

// TestTimeout: without the limit, the command would end by itself after five minutes.
func TestTimeout(t *testing.T) {
	atOnce(t, allMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		script := fmt.Sprintf("echo before; (setsid sleep %[1]s &); trap '' TERM; sleep %[1]s", m)
		output, result := inTime(t, func(timeout time.Duration) (string, domain.CommandResult, bool) {
			output, result := run(t, s, domain.Command{Argv: []string{"sh", "-c", script}, Dir: folder(t), Timeout: timeout})
			return output, result, output != ""
		})
		if !result.TimedOut || result.ExitCode != 137 || output != "before\n" {
			t.Errorf("%+v, output %q", result, output)
		}
		wantDead(t, m)
	})
}

func TestCancel(t *testing.T) {
	why := errors.New("somebody has cancelled")
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		atBest(t, dies, func() time.Duration {
			m := mark()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancelled := make(chan time.Time, 1)
			time.AfterFunc(300*time.Millisecond, func() {
				cancelled <- time.Now()
				cancel(why)
			})
			script := fmt.Sprintf("(setsid sleep %[1]s &); sleep %[1]s", m)
			_, err := s.Run(ctx, domain.Command{Argv: []string{"sh", "-c", script}, Dir: folder(t), Timeout: time.Minute}, io.Discard)
			took := time.Since(<-cancelled)
			if took > slack {
				t.Errorf("took %v", took)
			}
			if !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
			wantDead(t, m)
			return took
		})
	})
}

// blocked is a writer that never returns until it is let go.
type blocked struct{ release chan struct{} }

func (b blocked) Write(chunk []byte) (int, error) {
	<-b.release
	return len(chunk), nil
}

func TestBlockedWriterDoesNotHoldUpTheKill(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		writer := blocked{make(chan struct{})}
		defer close(writer.release)
		started := time.Now()
		script := fmt.Sprintf("setsid sleep %s & cat /dev/zero", m)
		command := domain.Command{Argv: []string{"sh", "-c", script}, Dir: folder(t), Timeout: 300 * time.Millisecond}
		result, err := s.Run(t.Context(), command, writer)
		if took := time.Since(started); took > command.Timeout+slack || !result.TimedOut || err != nil {
			t.Errorf("took %v, %+v, %v", took, result, err)
		}
		wantDead(t, m)
	})
}

// slow is a writer that takes its time.
type slow struct{ bytes.Buffer }

func (w *slow) Write(chunk []byte) (int, error) {
	time.Sleep(200 * time.Millisecond)
	return w.Buffer.Write(chunk)
}

func TestSlowWriterGetsEverything(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		var output slow
		command := domain.Command{Argv: []string{"head", "-c", "200000", "/dev/zero"}, Dir: folder(t)}
		if _, err := s.Run(t.Context(), command, &output); err != nil || output.Len() != 200_000 {
			t.Errorf("%d bytes, %v", output.Len(), err)
		}
	})
}

func TestFailingWriterIsAnError(t *testing.T) {
	read, write := io.Pipe()
	read.Close()
	_, err := open(byNamespaces).Run(t.Context(), domain.Command{Argv: []string{"echo", "hi"}, Dir: folder(t)}, write)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

// TestServerKilled kills the process that called Run, as nothing but the kernel can.
func TestServerKilled(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		atBest(t, dies, func() time.Duration {
			m := mark()
			script := fmt.Sprintf("(setsid sh -c 'sleep %[1]s & exit' &); setsid sleep %[1]s & sleep %[1]s", m)
			server := exec.Command(self, "__server", string(s.method), folder(t), script)
			must(t, server.Start())
			eventually(t, "three processes run", func() bool { return len(alive(m)) == 3 })
			killed := time.Now()
			must(t, server.Process.Kill())
			_ = server.Wait()
			eventually(t, "all are dead", func() bool { return len(alive(m)) == 0 })
			return time.Since(killed)
		})
	})
}

// TestSupervisorKilled takes away the one who buries. PID 1 of the namespace does not outlive it.
func TestSupervisorKilled(t *testing.T) {
	each(t, []method{byBubblewrap, byNamespaces, byPIDNamespace}, func(t *testing.T, s *Sandbox) {
		m := mark()
		failed := make(chan error, 1)
		command := domain.Command{Argv: []string{"sh", "-c", "setsid sleep " + m + " & sleep " + m}, Dir: folder(t)}
		go func() {
			_, err := s.Run(t.Context(), command, io.Discard)
			failed <- err
		}()
		eventually(t, "two processes run", func() bool { return len(alive(m)) == 2 })
		for _, pid := range children(os.Getpid()) {
			process, _ := os.FindProcess(pid)
			must(t, process.Kill())
		}
		if err := <-failed; domain.CodeOf(err) != domain.CodeToolFailed {
			t.Errorf("error %v", err)
		}
		eventually(t, "all are dead", func() bool { return len(alive(m)) == 0 })
	})
}

// TestForkBomb has sessions of forty processes each, which start no program of their own: a machine under load took half a minute for hundreds of those.
func TestForkBomb(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		batch := "i=0; while [ $i -lt 40 ]; do (read line < fifo) & i=$((i+1)); done; wait"
		script := fmt.Sprintf("mkfifo fifo; while :; do setsid sh -c '%s' sleep %s & done", batch, m) // [alive] looks for sleep and its mark
		command := domain.Command{Argv: []string{"sh", "-c", script}, Dir: folder(t), Timeout: ample}
		output, result := run(t, s, command)
		if result.ExitCode != 137 || !strings.Contains(output, "more than 512 processes") {
			t.Errorf("%+v, output %.300q", result, output)
		}
		wantDead(t, m)
	})
}

// TestRealForkBomb has every process fork twice and die, so that none stands still long enough to be looked at. It is
// run only where the kernel itself holds the bomb down: without that, a bug of ours takes the machine with it.
func TestRealForkBomb(t *testing.T) {
	each(t, []method{byBubblewrap, byNamespaces, byPIDNamespace}, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		if !bounded() {
			t.Skip("NOT TESTED, this kernel cannot bound the processes of root")
		}
		command := domain.Command{Argv: []string{"bash", "-c", ":(){ :|:& };:; sleep 60"}, Dir: dir, Timeout: 10 * time.Second}
		started := time.Now()
		_, result := run(t, s, command)
		if took := time.Since(started); took > command.Timeout+slack || result.ExitCode == 0 {
			t.Errorf("took %v, %+v", took, result)
		}
		t.Logf("dead after %v", result.Duration)
	})
}

func bounded() bool { return os.Getuid() != 0 || processLimitIsOurs() }

// TestThreadBomb shows that it is the kernel that holds it down: the supervisor does not count threads.
func TestThreadBomb(t *testing.T) {
	each(t, []method{byBubblewrap, byNamespaces, byPIDNamespace}, func(t *testing.T, s *Sandbox) {
		if !bounded() {
			t.Skip("NOT TESTED, this kernel cannot bound the threads of root")
		}
		before := content(t, "/proc/sys/kernel/pid_max")
		dir := folder(t)
		attacker(t, dir)
		output, result := shell(t, s, dir, fmt.Sprintf("./attack __attack threads %d", plan{}.maxThreads()))
		if result.ExitCode == 0 || result.TimedOut || strings.Contains(output, "all of them") {
			t.Errorf("%+v, output %.300q", result, output)
		}
		if after := content(t, "/proc/sys/kernel/pid_max"); after != before {
			t.Errorf("the limit of the whole machine was %s and is %s", before, after)
		}
	})
}

func attackThreads(count int) int {
	debug.SetMaxThreads(10 * count)
	var running sync.WaitGroup
	for range count {
		running.Add(1)
		go func() {
			runtime.LockOSThread()
			running.Done()
			select {}
		}()
	}
	running.Wait()
	fmt.Println("all of them run")
	return 0
}

func TestMemoryHog(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		s.memory = 512 << 20
		dir := folder(t)
		attacker(t, dir)
		output, result := shell(t, s, dir, "./attack __attack memory & ./attack __attack memory & wait")
		if result.ExitCode != 137 || !strings.Contains(output, "MiB of memory") {
			t.Errorf("%+v, output %.300q", result, output)
		}
	})
}

func attackMemory() int {
	var all [][]byte
	for {
		chunk := make([]byte, 64<<20)
		for i := 0; i < len(chunk); i += 4096 {
			chunk[i] = 1
		}
		all = append(all, chunk)
		time.Sleep(10 * time.Millisecond)
		if len(all) > 1<<10 {
			return 0
		}
	}
}

func TestChildrenAreFoundWithoutAList(t *testing.T) {
	child := exec.Command("sleep", "300")
	must(t, child.Start())
	defer child.Wait()
	defer child.Process.Kill()
	listed, found := children(os.Getpid()), childrenBySearch(os.Getpid())
	if !slices.Equal(listed, found) || !slices.Contains(found, child.Process.Pid) {
		t.Errorf("listed %v, found %v", listed, found)
	}
}

func TestManyAtOnce(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		before, m, dir := descriptors(t), mark(), folder(t)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				var output bytes.Buffer
				script := fmt.Sprintf("setsid sleep %s & echo run %d; exit %d", m, i, i)
				result, err := s.Run(context.Background(), domain.Command{Argv: []string{"sh", "-c", script}, Dir: dir}, &output)
				if want := fmt.Sprintf("run %d\n", i); err != nil || output.String() != want || result.ExitCode != i {
					t.Errorf("run %d: %+v, %q, %v", i, result, output.String(), err)
				}
			})
		}
		all.Wait()
		wantDead(t, m)
		if left := children(os.Getpid()); len(left) > 0 {
			t.Errorf("children are left: %v", left)
		}
		eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before })
	})
}
