package writers

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// TestMain serves as the other programs of the tests: one that writes on demand, and one without rights.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__writer":
			writerRole()
			return
		case "__new":
			_, err := New()
			fmt.Println(err)
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// writerRole writes to the file that each line of its input names, and answers when it has.
func writerRole() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		order, path, _ := strings.Cut(in.Text(), ": ")
		var err error
		switch order {
		case "write":
			err = os.WriteFile(path, []byte("x"), 0o600)
		case "create":
			err = os.WriteFile(path, nil, 0o600)
		case "append":
			err = appendTo(path)
		case "map":
			err = writeMapped(path)
		case "replace":
			if err = os.WriteFile(path+".new", []byte("y"), 0o600); err == nil {
				err = os.Rename(path+".new", path)
			}
		case "remove":
			err = os.Remove(path)
		case "leave nothing":
			if err = os.WriteFile(path, []byte("x"), 0o600); err == nil {
				err = os.Remove(path)
			}
		case "cover":
			err = syscall.Mount("tmpfs", path, "tmpfs", 0, "")
		case "many":
			for n := 0; n < 17_000 && err == nil; n++ {
				err = os.WriteFile(path+strconv.Itoa(n), nil, 0o600)
			}
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
}

// appendTo leaves the file open, as a program does that writes a log.
func appendTo(path string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	_, err = syscall.Write(fd, []byte("x"))
	return err
}

func writeMapped(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	mapped[0] = 'z'
	if err := syscall.Munmap(mapped); err != nil {
		return err
	}
	return file.Close()
}

// writer is another program, which writes on demand.
type writer struct {
	orders  *os.File
	answers *bufio.Scanner
}

// start starts a writer. A detached one is no descendant of this process.
func start(t *testing.T, detached bool, attributes *syscall.SysProcAttr) *writer {
	t.Helper()
	in, orders, err := os.Pipe()
	must(t, err)
	answers, out, err := os.Pipe()
	must(t, err)
	command := exec.Command("/proc/self/exe", "__writer")
	if detached {
		self, err := os.Executable()
		must(t, err)
		command = exec.Command("sh", "-c", `exec 3<&0; "$0" __writer <&3 &`, self)
	}
	command.Stdin, command.Stdout, command.Stderr, command.SysProcAttr = in, out, os.Stderr, attributes
	must(t, command.Start())
	must(t, in.Close())
	must(t, out.Close())
	if detached {
		must(t, command.Wait())
	}
	t.Cleanup(func() {
		orders.Close()
		if !detached {
			_ = command.Wait()
		}
		answers.Close()
	})
	return &writer{orders, bufio.NewScanner(answers)}
}

func (w *writer) order(t *testing.T, order, path string) {
	t.Helper()
	_, err := fmt.Fprintf(w.orders, "%s: %s\n", order, path)
	must(t, err)
	if !w.answers.Scan() || w.answers.Text() != "done" {
		t.Fatalf("%s %s: %q", order, path, w.answers.Text())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return path
}

func observer(t *testing.T) *Observer {
	t.Helper()
	o, err := New()
	if err != nil && os.Getuid() != 0 {
		t.Skip("NOT TESTED:", err)
	}
	must(t, err)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func watch(t *testing.T, o *Observer, folder string, excluded ...string) *Watch {
	t.Helper()
	w, err := o.Watch(folder, excluded...)
	must(t, err)
	return w
}

func wantSeen(t *testing.T, got Sighting, paths ...string) {
	t.Helper()
	if !slices.Equal(got.Paths, paths) || got.More || got.Lost || got.None() != (len(paths) == 0) {
		t.Errorf("seen: %+v, wanted %q", got, paths)
	}
}

func TestWritersAreSeen(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	for order, wanted := range map[string][]string{
		"write": {"file"}, "create": {"file"}, "append": {"file"}, "map": {"file"}, "replace": {"file"}, "leave nothing": {"file"},
		"remove": nil, // a limit; should it be seen one day, the page must say so
	} {
		t.Run(order, func(t *testing.T) {
			dir := folder(t)
			must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("a"), 0o600))
			w := watch(t, o, dir)
			o.mu.Lock() // the event of a file that is renamed later has the new name only if it is read later
			other.order(t, order, filepath.Join(dir, "file"))
			o.mu.Unlock()
			wantSeen(t, w.Stop(), wanted...)
		})
	}
}

// An event is in the queue before the write returns, so the Stop after it sees it: each time, and nothing of the time before or of elsewhere.
func TestEachWriteIsSeenOnceItHasReturned(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	dir, beside := folder(t), folder(t)
	for n := range 1000 {
		name := strconv.Itoa(n)
		w := watch(t, o, dir)
		other.order(t, "write", filepath.Join(beside, name))
		must(t, os.WriteFile(filepath.Join(dir, "own"), []byte(name), 0o600))
		if n%2 == 0 {
			wantSeen(t, w.Stop())
			other.order(t, "write", filepath.Join(dir, "between"))
			continue
		}
		other.order(t, "write", filepath.Join(dir, name))
		wantSeen(t, w.Stop(), name)
	}
}

// Another watch has the mark on the same mount, so events may be in the queue that are older than this watch.
func TestWatchBeginsWhenItReturns(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	dir := folder(t)
	first := watch(t, o, dir)
	for range 200 {
		o.mu.Lock() // the reader waits, and is not always the next one to go on
		other.order(t, "write", filepath.Join(dir, "before"))
		o.mu.Unlock()
		wantSeen(t, watch(t, o, dir).Stop())
	}
	second := watch(t, o, dir)
	other.order(t, "write", filepath.Join(dir, "during"))
	wantSeen(t, second.Stop(), "during")
	other.order(t, "write", filepath.Join(dir, "later"))
	stopped := first.Stop()
	wantSeen(t, stopped, "before", "during", "later")
	if again := first.Stop(); !cmp.Equal(again, stopped) {
		t.Errorf("the second Stop: %+v", again)
	}
}

func TestExcludedFoldersAreNotLookedAt(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	dir := folder(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".git", "refs"), 0o700))
	w := watch(t, o, dir, ".git", "data/")
	must(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	for _, name := range []string{".git/index", ".git/refs/head", "data/x", ".gitignore", "database"} {
		other.order(t, "write", filepath.Join(dir, name))
	}
	wantSeen(t, w.Stop(), ".gitignore", "database")
}

// A folder whose name begins like another one's is another folder; a folder that was moved is the same.
func TestFoldersAreNotTakenForOthers(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	dir := folder(t)
	for _, name := range []string{"a", "ab"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	w := watch(t, o, filepath.Join(dir, "a"))
	other.order(t, "write", filepath.Join(dir, "ab", "x"))
	must(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")))
	other.order(t, "write", filepath.Join(dir, "c", "moved"))
	wantSeen(t, w.Stop(), "moved")
}

func TestPathsAreBounded(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	dir := folder(t)
	w := watch(t, o, dir)
	for n := range MaxPaths {
		other.order(t, "write", filepath.Join(dir, strconv.Itoa(n)))
	}
	other.order(t, "write", filepath.Join(dir, "0"))
	o.mu.Lock()
	o.drain()
	more := w.more
	o.mu.Unlock()
	if more {
		t.Error("a known path counts as one more")
	}
	other.order(t, "write", filepath.Join(dir, "more"))
	if got := w.Stop(); len(got.Paths) != MaxPaths || !got.More || got.Lost || got.None() {
		t.Errorf("%d paths, more: %v, lost: %v", len(got.Paths), got.More, got.Lost)
	}
}

func TestAnOverflowCountsAsSeen(t *testing.T) {
	o, other := observer(t), start(t, false, nil)
	w := watch(t, o, folder(t))
	o.mu.Lock() // the reader cannot keep the queue short
	other.order(t, "many", filepath.Join(folder(t), "file"))
	o.mu.Unlock()
	if got := w.Stop(); !got.Lost || len(got.Paths) > 0 || got.None() {
		t.Errorf("%+v", got)
	}
	next := watch(t, o, folder(t))
	wantSeen(t, next.Stop())
}

// A service or an editor may have a mount namespace of its own. Where this server has made it, it is a sandbox.
func TestMountNamespaces(t *testing.T) {
	o := observer(t)
	own := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	sandboxed, foreign := start(t, false, own), start(t, true, own)
	dir := folder(t)
	for _, other := range []*writer{sandboxed, foreign} {
		other.order(t, "write", filepath.Join(dir, "before")) // now the namespaces are there
	}
	w := watch(t, o, dir)
	sandboxed.order(t, "write", filepath.Join(dir, "sandboxed"))
	foreign.order(t, "write", filepath.Join(dir, "foreign"))
	wantSeen(t, w.Stop(), "foreign")
	foreign.order(t, "cover", dir) // now the path is another folder there
	w = watch(t, o, dir)
	foreign.order(t, "write", filepath.Join(dir, "covered"))
	wantSeen(t, w.Stop())
}

// The kernel spends nothing on marks that nobody needs.
func TestMarksLastAsLongAsWatches(t *testing.T) {
	o := observer(t)
	dir := folder(t)
	marks := func() int {
		info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(o.group.fd))
		must(t, err)
		return bytes.Count(info, []byte("fanotify mnt_id:"))
	}
	before := marks()
	first, second := watch(t, o, dir), watch(t, o, dir)
	both := marks()
	first.Stop()
	one := marks()
	second.Stop()
	if before != 0 || both == 0 || one != both || marks() != 0 {
		t.Errorf("%d marks, %d with two watches, %d with one, %d with none", before, both, one, marks())
	}
	if len(o.marks) != 0 {
		t.Errorf("counted marks: %v", o.marks)
	}
}

func TestClose(t *testing.T) {
	o := observer(t)
	dir := folder(t)
	w := watch(t, o, dir)
	must(t, o.Close())
	if got := w.Stop(); !got.Lost {
		t.Errorf("%+v", got)
	}
	if _, err := o.Watch(dir); err == nil {
		t.Error("a closed observer watches")
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	o := observer(t)
	if _, err := o.Watch(filepath.Join(folder(t), "missing")); err == nil || len(o.marks) != 0 {
		t.Errorf("%v, marks: %v", err, o.marks)
	}
}

func TestWithoutTheRightTheReasonIsTold(t *testing.T) {
	command := exec.Command("/proc/self/exe", "__new")
	if os.Getuid() == 0 {
		self := filepath.Join(folder(t), "new")
		program, err := os.ReadFile("/proc/self/exe")
		must(t, err)
		must(t, os.WriteFile(self, program, 0o755))
		for parent := filepath.Dir(self); parent != os.TempDir(); parent = filepath.Dir(parent) {
			must(t, os.Chmod(parent, 0o755))
		}
		command = exec.Command(self, "__new")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	command.Dir = "/"
	said, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "CAP_SYS_ADMIN") {
		t.Errorf("%v, %s", err, said)
	}
}
