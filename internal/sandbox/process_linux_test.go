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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

var processMethods = []method{byPIDNamespace, bySubreaper}

// begin starts a script as a process.
func begin(t testing.TB, s *Sandbox, script string) *Child {
	t.Helper()
	return start(t, s, Process{Argv: []string{"/bin/sh", "-c", script}, Dir: folder(t), Env: []string{"PATH=" + searchPath}})
}

func start(t testing.TB, s *Sandbox, process Process) *Child {
	t.Helper()
	c, err := s.Start(t.Context(), process)
	must(t, err)
	t.Cleanup(func() {
		c.Kill()
		<-c.Done()
		c.Stdout.Close()
		c.Stderr.Close()
	})
	return c
}

// expect waits for one line of output.
func expect(t testing.TB, c *Child, want string) {
	t.Helper()
	got := make([]byte, len(want)+1)
	if _, err := io.ReadFull(c.Stdout, got); err != nil || string(got) != want+"\n" {
		t.Fatalf("%q, %v, and not %q", got, err, want)
	}
}

func rest(t testing.TB, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	must(t, err)
	return string(text)
}

// ends waits for the death of everything.
func ends(t testing.TB, c *Child) Exit {
	t.Helper()
	select {
	case <-c.Done():
		return c.Exit()
	case <-time.After(slack):
		t.Fatalf("not dead within %v", slack)
		return Exit{}
	}
}

func TestProcessIsSpokenTo(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := begin(t, s, "echo problem >&2; cat; exit 4")
		for _, line := range []string{"one", "two"} {
			_, err := io.WriteString(c.Stdin, line+"\n")
			must(t, err)
			expect(t, c, line)
		}
		must(t, c.Stdin.Close()) // and cat ends, since nobody else holds this end
		if got := rest(t, c.Stderr); got != "problem\n" {
			t.Errorf("errors: %q", got)
		}
		if exit := ends(t, c); exit != (Exit{Code: 4}) {
			t.Errorf("%+v", exit)
		}
	})
}

func TestProcessRunsWhateverTheKind(t *testing.T) {
	for _, mode := range []Mode{ModeAuto, ModeOff} {
		s, err := New(t.Context(), Config{Mode: mode})
		must(t, err)
		s.kind = KindNone
		if exit := ends(t, begin(t, s, "exit 5")); exit.Code != 5 {
			t.Errorf("%+v", exit)
		}
		if s.processes != byPIDNamespace {
			t.Errorf("processes run by %s", s.processes)
		}
	}
	_, err := (&Sandbox{}).Start(t.Context(), Process{Argv: []string{"/bin/true"}, Dir: "/"})
	if domain.CodeOf(err) != domain.CodeAgentUnavailable {
		t.Errorf("error %v", err)
	}
}

func TestProcessIsNotIsolated(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		dir, outside := folder(t), filepath.Join(folder(t), "outside")
		script := fmt.Sprintf("pwd; echo text > %s; readlink /proc/self/ns/net; cat /proc/self/oom_score_adj; nice", outside)
		c := start(t, s, Process{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Env: []string{"PATH=" + searchPath}})
		network, err := os.Readlink("/proc/self/ns/net")
		must(t, err)
		own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // of the system call: 20 less the niceness
		must(t, err)
		output := strings.Fields(rest(t, c.Stdout))
		if want := []string{dir, network, "500", strconv.Itoa(20 - own)}; !slices.Equal(output, want) {
			t.Errorf("%q, want %q", output, want)
		}
		if got := content(t, outside); got != "text\n" {
			t.Errorf("the file holds %q", got)
		}
	})
}

// TestLaterMountsComeIn mounts something while a process runs.
func TestLaterMountsComeIn(t *testing.T) {
	if !privileged() {
		t.Skip("NOT TESTED, it takes root to mount something")
	}
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		tmpfs := func(target string) {
			must(t, unix.Mount("tmpfs", target, "tmpfs", 0, "size=1m"))
			t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
		}
		tmpfs(dir)
		must(t, unix.Mount("", dir, "", unix.MS_SHARED, ""))
		must(t, os.Mkdir(filepath.Join(dir, "later"), 0o755))
		c := begin(t, s, fmt.Sprintf("echo up; read line; cat %s/later/file", dir))
		expect(t, c, "up")
		tmpfs(filepath.Join(dir, "later"))
		write(t, filepath.Join(dir, "later/file"), "text\n")
		must(t, c.Stdin.Close())
		expect(t, c, "text")
	})
}

func TestProcessIsolatesItself(t *testing.T) {
	if err := works(byBubblewrap); err != nil {
		t.Skip("NOT TESTED, bubblewrap does not work here:", err)
	}
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := begin(t, s, "bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc --dev /dev echo inside 2>&1")
		if got := rest(t, c.Stdout); got != "inside\n" {
			t.Error(got)
		}
	})
}

// TestProcessLimits compares with our own: only the number of processes, where the kernel counts them for the tree alone.
func TestProcessLimits(t *testing.T) {
	limits := func(text string) (all []string) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "Max processes") {
				all = append(all, line)
			}
		}
		return all
	}
	own, err := exec.Command("cat", "/proc/self/limits").Output() // Go raises one of its own, and puts it back in children
	must(t, err)
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		output := rest(t, begin(t, s, "cat /proc/self/limits").Stdout)
		if !slices.Equal(limits(output), limits(string(own))) {
			t.Errorf("%s", output)
		}
	})
}

func TestProcessIsNotCounted(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		s.memory = 1
		m := mark()
		c := begin(t, s, fmt.Sprintf("for i in $(seq %d); do sleep %s & done; wait", maxProcesses+10, m))
		all := func() bool { return len(alive(m)) == maxProcesses+10 }
		eventually(t, "all of them run", all) // a shell has forked long before its children are what they are to become
		time.Sleep(200 * time.Millisecond)    // in which who counts has counted
		if !all() {
			t.Errorf("%d processes run", len(alive(m)))
		}
		c.Kill()
		ends(t, c)
		wantDead(t, m)
	})
}

func TestProcessEnvironment(t *testing.T) {
	t.Setenv("SIGNOFF_CANARY", "canary-of-the-environment")
	env := []string{
		"PATH=/somewhere/bin:/usr/bin", "EMPTY=", "LINES=a\nb", "EQUALS=a=b", "TWICE=first", "TWICE=second", "HOME=/elsewhere/x",
		"LARGE=" + strings.Repeat("x", 100_000), "GODEBUG=http2client=0", "UMLAUT=ü",
	}
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := start(t, s, Process{Argv: []string{"/usr/bin/env", "-0"}, Dir: "/", Env: env})
		got := strings.Split(strings.TrimSuffix(rest(t, c.Stdout), "\x00"), "\x00")
		want := slices.Delete(slices.Clone(env), 4, 5)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%.500q", got)
		}
		c = start(t, s, Process{Argv: []string{"/usr/bin/env"}, Dir: "/"})
		if got := rest(t, c.Stdout); got != "" {
			t.Errorf("without an environment, there is %q", got)
		}
		c = begin(t, s, "cat /proc/self/environ /proc/1/environ /proc/$PPID/environ 2>/dev/null")
		if got := rest(t, c.Stdout); s.processes == byPIDNamespace && strings.Contains(got, "canary") {
			t.Errorf("the environment of the server is visible: %q", got)
		}
	})
}

// TestSecretsDoNotTravelInSight looks at what everybody on this machine can read, while a program with a secret runs.
func TestSecretsDoNotTravelInSight(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m, secret := mark(), "secret-"+mark()
		c := start(t, s, Process{
			Argv: []string{"/bin/sh", "-c", "echo up; exec sleep " + m}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "KEY=" + secret},
		})
		expect(t, c, "up")
		wantUnseen(t, secret, m)
	})
}

// wantUnseen looks for secret in all arguments, and in all environments but that of the sleep that is marked.
func wantUnseen(t *testing.T, secret, mark string) {
	t.Helper()
	eventually(t, "it sleeps", func() bool { return len(alive(mark)) == 1 })
	owner := strconv.Itoa(alive(mark)[0])
	files, _ := filepath.Glob("/proc/[0-9]*/*")
	for _, file := range files {
		base, pid := filepath.Base(file), filepath.Base(filepath.Dir(file))
		if base != "cmdline" && base != "environ" {
			continue
		}
		text, _ := os.ReadFile(file)
		if bytes.Contains(text, []byte(secret)) != (base == "environ" && pid == owner) {
			t.Errorf("%s: %.300q", file, text)
		}
	}
}

// TestProcessEndTakesAllWithIt has a grandchild hold the pipes, and reads only when everything is dead.
func TestProcessEndTakesAllWithIt(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		script := "head -c 60000 /dev/zero; echo no >&2; (setsid sh -c 'trap \"\" TERM HUP; sleep %[1]s & sleep %[1]s' &); sleep 0.1; exit 3"
		c := begin(t, s, fmt.Sprintf(script, m))
		if exit := ends(t, c); exit != (Exit{Code: 3}) {
			t.Errorf("%+v", exit)
		}
		wantDead(t, m)
		for range 2 {
			if output := rest(t, c.Stdout); len(output) != 60000 && len(output) != 0 {
				t.Errorf("%d bytes of output", len(output))
			}
		}
		if got := rest(t, c.Stderr); got != "no\n" {
			t.Errorf("errors: %q", got)
		}
	})
}

func TestProcessOutlivesStart(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := s.Start(ctx, Process{Argv: []string{"/bin/cat"}, Dir: "/"})
		must(t, err)
		cancel()
		_, err = io.WriteString(c.Stdin, "hello\n")
		must(t, err)
		expect(t, c, "hello")
		must(t, c.Stdin.Close())
		if got := rest(t, c.Stdout) + rest(t, c.Stderr); got != "" || ends(t, c).Code != 0 {
			t.Errorf("%q, %+v", got, c.Exit())
		}
	})
}

func TestKill(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		c := begin(t, s, fmt.Sprintf("trap '' TERM HUP INT; (setsid sh -c 'sleep %[1]s & sleep %[1]s' &); echo up; sleep %[1]s", m))
		expect(t, c, "up")
		eventually(t, "three processes run", func() bool { return len(alive(m)) == 3 })
		c.Kill()
		c.Kill()
		if exit := ends(t, c); exit != (Exit{Code: 137, Signal: "killed"}) {
			t.Errorf("%+v", exit)
		}
		wantDead(t, m)
		if _, err := c.Stdin.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

// TestStuckSupervisor stops the one who is to kill. Nobody waits for it: neither those who ask, nor the kill for long.
func TestStuckSupervisor(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		c := begin(t, s, "echo up; exec sleep "+m)
		expect(t, c, "up")
		supervisors := children(os.Getpid())
		if len(supervisors) != 1 {
			t.Fatalf("children: %v", supervisors)
		}
		must(t, unix.Kill(supervisors[0], unix.SIGSTOP))
		started := time.Now()
		for range 100_000 {
			c.Terminate()
		}
		if took := time.Since(started); took > slack {
			t.Errorf("asking took %v", took)
		}
		started = time.Now()
		c.Kill()
		if took := time.Since(started); took >= killGrace { // which is for the supervisor; the machine hardly stands still between two lines
			t.Errorf("the kill was waited for, %v", took)
		}
		if exit := ends(t, c); exit.Code != -1 || exit.Trouble == "" {
			t.Errorf("%+v", exit)
		}
		eventually(t, "all are dead", func() bool { return len(alive(m)) == 0 })
	})
}

func TestProcessServerKilled(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		script := fmt.Sprintf("trap '' TERM HUP; (setsid sh -c 'sleep %[1]s & exit' &); setsid sleep %[1]s & sleep %[1]s", m)
		server := exec.Command(self, "__processServer", string(s.method), script)
		must(t, server.Start())
		eventually(t, "three processes run", func() bool { return len(alive(m)) == 3 })
		must(t, server.Process.Kill())
		_ = server.Wait()
		eventually(t, "all are dead", func() bool { return len(alive(m)) == 0 })
	})
}

// processServerRole is a server with one process, for being killed.
func processServerRole(args []string) {
	process := Process{Argv: []string{"/bin/sh", "-c", args[1]}, Dir: "/", Env: []string{"PATH=" + searchPath}}
	c, err := open(method(args[0])).Start(context.Background(), process)
	if err == nil {
		<-c.Done()
	}
	fmt.Println("the process has ended:", err)
	os.Exit(1)
}

func TestTerminate(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		file := filepath.Join(folder(t), "file")
		c := begin(t, s, fmt.Sprintf("trap 'echo clean > %s; exit 7' TERM; echo up; while :; do sleep 0.01; done", file))
		expect(t, c, "up")
		c.Terminate()
		if exit := ends(t, c); exit != (Exit{Code: 7}) || content(t, file) != "clean\n" {
			t.Errorf("%+v", exit)
		}
		c.Terminate() // once more, to nobody

		c = begin(t, s, "echo up; exec sleep "+mark())
		expect(t, c, "up")
		c.Terminate()
		if exit := ends(t, c); exit != (Exit{Code: 143, Signal: "terminated"}) {
			t.Errorf("%+v", exit)
		}
	})
}

// TestTerminateIsOnlyARequest has a program that goes on, with a child that nobody has asked.
func TestTerminateIsOnlyARequest(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m := mark()
		c := begin(t, s, fmt.Sprintf("trap 'echo asked' TERM; sleep %s & echo up; while :; do sleep 0.01; done", m))
		expect(t, c, "up")
		for range 3 {
			c.Terminate()
			expect(t, c, "asked")
		}
		eventually(t, "the child that nobody has asked", func() bool { return len(alive(m)) == 1 }) // it may not have begun yet
	})
}

func TestProgramKilledFromOutside(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		m, left := mark(), mark()
		c := begin(t, s, fmt.Sprintf("setsid sleep %s & echo up; exec sleep %s", left, m))
		expect(t, c, "up")
		eventually(t, "both sleep", func() bool { return len(alive(m)) == 1 && len(alive(left)) == 1 })
		must(t, unix.Kill(alive(m)[0], unix.SIGKILL))
		if exit := ends(t, c); exit != (Exit{Code: 137, Signal: "killed"}) {
			t.Errorf("%+v", exit)
		}
		wantDead(t, left)
	})
}

func TestProgramThatCannotRun(t *testing.T) {
	dir := folder(t)
	text := write(t, filepath.Join(dir, "text"), "not a program")
	headless := write(t, filepath.Join(dir, "headless"), "#!/no/such/interpreter\n")
	garbage := write(t, filepath.Join(dir, "garbage"), "\x00\x01\x02")
	must(t, os.Chmod(headless, 0o755))
	must(t, os.Chmod(garbage, 0o755))
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		before := descriptors(t)
		for name, process := range map[string]Process{
			"missing":        {Argv: []string{dir + "/missing"}, Dir: dir},
			"not executable": {Argv: []string{text}, Dir: dir},
			"a folder":       {Argv: []string{dir}, Dir: dir},
			"no interpreter": {Argv: []string{headless}, Dir: dir},
			"no program":     {Argv: []string{garbage}, Dir: dir},
			"missing folder": {Argv: []string{"/bin/true"}, Dir: dir + "/missing"},
			"not a folder":   {Argv: []string{"/bin/true"}, Dir: text},
		} {
			started := time.Now()
			c, err := s.Start(t.Context(), process)
			if domain.CodeOf(err) != domain.CodeAgentUnavailable || !strings.Contains(err.Error(), dir) || c != nil {
				t.Errorf("%s: %v, %v", name, c, err)
			}
			if took := time.Since(started); took > slack {
				t.Errorf("%s: took %v", name, took)
			}
			t.Log(err)
		}
		for name, process := range map[string]Process{
			"no arguments":    {Dir: dir},
			"relative":        {Argv: []string{"true"}, Dir: dir},
			"relative folder": {Argv: []string{"/bin/true"}, Dir: "."},
			"not text":        {Argv: []string{"/bin/true", "\xff"}, Dir: dir},
			"no name":         {Argv: []string{"/bin/true"}, Dir: dir, Env: []string{"=value"}},
			"no value":        {Argv: []string{"/bin/true"}, Dir: dir, Env: []string{"secret"}},
			"a zero":          {Argv: []string{"/bin/true"}, Dir: dir, Env: []string{"A=secret\x00B=c"}},
		} {
			_, err := s.Start(t.Context(), process)
			if domain.CodeOf(err) != domain.CodeInvalidArguments || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", name, err)
			}
		}
		leavesNothing(t, before)
	})
}

// TestStartIsCancelled ends the starting at many moments.
func TestStartIsCancelled(t *testing.T) {
	why := errors.New("somebody has cancelled")
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		before, m, cancelled := descriptors(t), mark(), 0
		for delay := range 25 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(delay)*4*time.Millisecond, why)
			c, err := s.Start(ctx, Process{Argv: []string{"/bin/sleep", m}, Dir: "/"})
			cancel()
			switch {
			case errors.Is(err, why):
				cancelled++
				wantDead(t, m)
			case err != nil:
				t.Error(err)
			default:
				c.Kill()
				ends(t, c)
				c.Stdout.Close()
				c.Stderr.Close()
			}
		}
		leavesNothing(t, before)
		if cancelled == 0 {
			t.Error("none was cancelled")
		}
	})
}

func TestUnreadInputHasADeadline(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := begin(t, s, "exec sleep "+mark())
		must(t, c.Stdin.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		if _, err := c.Stdin.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		c.Kill()
		ends(t, c)
	})
}

func TestUnreadOutputDoesNotHoldUpTheKill(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := begin(t, s, "cat /dev/zero >&2 & echo up; cat /dev/zero")
		expect(t, c, "up")
		c.Kill()
		ends(t, c)
	})
}

// TestStreamsBelongToTheProcess closes them on its side while it lives: no stage may hold them open.
func TestStreamsBelongToTheProcess(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		c := begin(t, s, "exec <&- >&- 2>&-; exec sleep "+mark())
		if got := rest(t, c.Stdout); got != "" {
			t.Errorf("%q", got)
		}
		if _, err := c.Stdin.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
			t.Errorf("error %v", err)
		}
		select {
		case <-c.Done():
			t.Error("the process has ended")
		default:
		}
	})
}

// TestStreamHeldOutside has a process of somebody else's keep a pipe open, as a service manager does that was handed it.
func TestStreamHeldOutside(t *testing.T) {
	read, held, err := os.Pipe()
	must(t, err)
	defer held.Close()
	s := &stream{pipe: read}
	_, err = held.WriteString("before")
	must(t, err)
	s.finish()
	for _, want := range []string{"before", ""} {
		if got := rest(t, s); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if err := s.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the pipe was left open: %v", err)
	}
}

func TestManyProcessesLeaveNothing(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		goroutines, before, m := goleak.IgnoreCurrent(), descriptors(t), mark()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				script := fmt.Sprintf("setsid sleep %s & read line; echo $line; exit %d", m, i)
				c, err := s.Start(context.Background(), Process{
					Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: []string{"PATH=" + searchPath},
				})
				if err != nil {
					t.Error(err)
					return
				}
				_, err = fmt.Fprintln(c.Stdin, i)
				output, _ := io.ReadAll(c.Stdout)
				errs, _ := io.ReadAll(c.Stderr)
				if err != nil || string(output) != fmt.Sprintln(i) || len(errs) > 0 || c.Exit().Code != i {
					t.Errorf("process %d: %q, %q, %+v, %v", i, output, errs, c.Exit(), err)
				}
			})
		}
		all.Wait()
		wantDead(t, m)
		leavesNothing(t, before)
		goleak.VerifyNone(t, goroutines)
	})
}
