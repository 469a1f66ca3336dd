package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/domain"
)

// TestMain serves the stages, as main does, and a few roles of the tests' own: servers that get killed or stopped, with a
// command, with a process and with both, and a program that tries to break out.
func TestMain(m *testing.M) {
	interceptOffMainThread()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__server":
			serverRole(os.Args[2:])
		case "__processServer":
			processServerRole(os.Args[2:])
		case "__leasedServer":
			leasedServerRole(os.Args[2:])
		case "__attack":
			// Not os.Exit: under the race detector that sleeps for a second, of which a hundred attempts would make minutes.
			syscall.Exit(attackRole(os.Args[2:]))
		}
	}
	together()
	fmt.Fprintln(os.Stderr, "sandbox tests run as uid", os.Getuid(), "with", methodsHere())
	goleak.VerifyTestMain(m)
}

// interceptOffMainThread serves the stages on a thread that is not the main one. In a server they run on the main thread, since Go sets its packages up
// there, but in test binaries on any: the main thread alone has the parent-death signal that the supervisor asked for.
func interceptOffMainThread() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Intercept()
	}()
	<-done
}

var allMethods = []method{byBubblewrap, byNamespaces, byPIDNamespace, bySubreaper}

func open(m method) *Sandbox {
	return &Sandbox{kind: KindOff, method: m, processes: m, tools: findTools(), memory: usableMemory(), lease: lasting(),
		config: Config{Network: networkTo(false)}}
}

// lasting is one for all: each would be a descriptor until the end of the tests.
var lasting = sync.OnceValue(func() *lease {
	l, err := newLease()
	if err != nil {
		panic(err)
	}
	return l
})

var probed = map[method]error{}

func works(m method) error {
	if _, known := probed[m]; !known {
		_, probed[m] = open(m).probe(context.Background(), m)
	}
	return probed[m]
}

// methodsHere says which kinds the tests can reach, so that none is missing unnoticed.
func methodsHere() string {
	var all []string
	for _, m := range allMethods {
		verdict := "yes"
		if err := works(m); err != nil {
			verdict = "NO: " + reason(err)
		}
		all = append(all, fmt.Sprintf("%s: %s", m, verdict))
	}
	return strings.Join(all, "; ")
}

// each runs a test once for every method that works here. Only bubblewrap may be missing.
func each(t *testing.T, methods []method, test func(t *testing.T, s *Sandbox)) {
	for _, m := range methods {
		t.Run(string(m), func(t *testing.T) {
			s := open(m)
			if err := works(m); err != nil {
				if m == byBubblewrap {
					t.Skip("NOT TESTED, bubblewrap does not work here:", err)
				}
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

// atOnce is each with all methods side by side, for tests that mostly wait, and look only for what carries their own mark.
func atOnce(t *testing.T, methods []method, test func(t *testing.T, s *Sandbox)) {
	each(t, methods, func(t *testing.T, s *Sandbox) {
		t.Parallel()
		test(t, s)
	})
}

// dies is how soon all is dead after a cancel, a kill or the end of a lease, as docs/sandbox.md promises.
const dies = 2 * time.Second

// atBest has try take no longer than promised, in one of three times: a machine that stands still is no fault, and what is late each time is one.
func atBest(t testing.TB, promised time.Duration, try func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 3 {
		took = append(took, try())
		if slices.Min(took) <= promised {
			return
		}
	}
	t.Errorf("it took %v, and never %v or less", took, promised)
}

// inTime gives a command more time, up to 40 seconds, until it got done in its time: a busy machine is no fault.
func inTime(t testing.TB, try func(timeout time.Duration) (output string, result domain.CommandResult, done bool)) (string, domain.CommandResult) {
	t.Helper()
	for timeout := 2500 * time.Millisecond; ; timeout *= 4 {
		output, result, done := try(timeout)
		if done || timeout >= 40*time.Second {
			return output, result
		}
		t.Logf("not done in %v: %+v, output %q", timeout, result, output)
	}
}

// together lets all methods run at once, also where there are fewer processors: who uses [atOnce] waits for clocks.
func together() {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(max(len(allMethods), runtime.GOMAXPROCS(0))))
}

var isolated = []method{byBubblewrap, byNamespaces}

// folder makes a temporary folder that an ordinary user's commands can reach, too.
func folder(t testing.TB) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func content(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// ample is the timeout of a command that is to end by itself. Commands are niced: beside work of ordinary priority they get so
// little of the processors that they take minutes for what is done in a second.
const ample = 5 * time.Minute

// shell runs a script that must at least be run.
func shell(t testing.TB, s *Sandbox, dir, script string) (string, domain.CommandResult) {
	t.Helper()
	return run(t, s, domain.Command{Argv: []string{"sh", "-c", script}, Dir: dir, Timeout: ample})
}

func run(t testing.TB, s *Sandbox, command domain.Command) (string, domain.CommandResult) {
	t.Helper()
	var output bytes.Buffer
	result, err := s.Run(t.Context(), command, &output)
	if err != nil {
		t.Fatalf("%v: %v\n%s", command.Argv, err, output.String())
	}
	return output.String(), result
}

// mark returns an argument for sleep that no other process has, to find it again from outside. Its parts have a fixed width:
// no mark is the beginning of another, also where these tests run twice at once.
func mark() string {
	return fmt.Sprintf("300.%07d%06d", os.Getpid(), marks.Add(1))
}

var marks atomic.Int64

// alive counts the processes of this machine with mark in their arguments, zombies not included: those have none.
func alive(mark string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if bytes.Contains(text, []byte("sleep\x00"+mark)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func wantDead(t testing.TB, mark string) {
	t.Helper()
	if pids := alive(mark); len(pids) > 0 {
		t.Errorf("%d processes have survived: %v", len(pids), pids)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(slack); !holds(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", slack, what)
		}
		pause = min(pause*3/2, 200*time.Millisecond) // what a test waits for needs the processors that a look at all processes takes
	}
}

func descriptors(t testing.TB) int {
	all, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(all)
}

// leavesNothing expects that no child is left and that what was open before is open, no more: at the latest a moment
// later, since the pipes of a process that has ended are closed by those who read them.
func leavesNothing(t testing.TB, before int) {
	t.Helper()
	eventually(t, "no descriptor and no child is left", func() bool {
		return descriptors(t) <= before && len(children(os.Getpid())) == 0
	})
}

// attacker copies a program that tries to break out into the workspace, where a command can start it: this one, or that of TEST_ATTACK, which is built from
// the same without the race detector. There are hundreds of attempts, and with it each takes four times as long to begin.
func attacker(t testing.TB, dir string) string {
	t.Helper()
	return copyOf(t, cmp.Or(os.Getenv("TEST_ATTACK"), self), dir)
}

func copyOf(t testing.TB, program, dir string) string {
	t.Helper()
	in, err := os.Open(program)
	must(t, err)
	defer in.Close()
	path := filepath.Join(dir, "attack")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	return path
}

// serverRole is a server with one command, which is granted network, for being killed.
func serverRole(args []string) {
	command := domain.Command{Argv: []string{"sh", "-c", args[2]}, Dir: args[1], Hosts: []string{"*"}}
	_, err := open(method(args[0])).Run(context.Background(), command, os.Stdout)
	fmt.Println("the command has ended:", err)
	os.Exit(1)
}

// sameForEveryUser are the tests of what no right has a part in: how a command is handed over, how it is told of, how much of it runs at once,
// and whether attempts at escape would be seen. As an ordinary user, all others run again: isolation, limits, and what kills. The attempts themselves
// are made by `make escapes`, as both users.
var sameForEveryUser = strings.Join([]string{
	"OrdinaryUser", "ExitCodes", "MissingProgram", "ArgumentsArriveAsTheyAre", "OutputIsOneStream", "Timeout", "SlowWriterGetsEverything",
	"FailingWriterIsAnError", "BlockedWriterDoesNotHoldUpTheKill", "ManyAtOnce", "ChildrenAreFoundWithoutAList", "FurtherEnvironment",
	"SupervisorThatReadsLateGetsItsWholeOrder", "CommandThatNeverBeganIsNotCalledKilled", "StartsTakeTurns", "StartIsCancelled",
	"ProgramThatCannotRun", "ProcessIsSpokenTo", "ProcessIsNotCounted", "ProcessOutlivesStart", "ManyProcessesLeaveNothing",
	"UnreadInputHasADeadline", "UnreadOutputDoesNotHoldUpTheKill", "StreamsBelongToTheProcess", "StreamHeldOutside", "Trust", "PlainConfig",
	"ForkBomb", "Guards", "GuardsWithinGuards", "UnknownModeIsAnError", "NothingWorksMeansRefused", "EscapesAreSeen", "EvasionsWork",
	"HostsWithoutNetworkAreRefused", "OwnProxyVariablesCount", "SystemCannotBeTheWorkspace",
}, "|")

// TestOrdinaryUser runs the other tests again as a user without any rights. They are not verbose, so that the output names only
// what failed: among all that passes, nobody found the one failure.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is the ordinary user already")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "signoff-nobody-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, nobody, nobody)) // which the compiler's folder is closed to
	again, but, verbose := "^Test", sameForEveryUser+"|Probe|Escapes", "false"
	if os.Getenv(allEscapes) != "" {
		again, but, verbose = "^Test(Probe|Escapes)$", "OrdinaryUser", "true"
	}
	tests := exec.Command(copyOf(t, cmp.Or(os.Getenv("TEST_ATTACK"), self), dir), "-test.timeout=30m", "-test.run="+again, "-test.skip=^Test("+but+")$", "-test.v="+verbose)
	tests.Dir = dir
	tests.Env = []string{"TMPDIR=" + dir, "HOME=" + dir}
	for _, name := range []string{allEscapes, "TEST_ATTACK", "GORACE", "PATH"} {
		tests.Env = append(tests.Env, name+"="+os.Getenv(name))
	}
	tests.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := tests.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
}
