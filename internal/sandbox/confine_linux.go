package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limits of one process. There is none on memory: sanitizers and JavaScript engines reserve far more addresses than
// they use, so a limit that they survive would be none. The supervisor counts the memory that the whole tree really uses.
const (
	maxFileSize  = 4 << 30
	maxOpenFiles = 4096
)

// maxThreads bounds the whole tree in the kernel, threads included: compilers start some for each processor. A process
// runs several commands at a time by itself.
func (p plan) maxThreads() int {
	limit := max(1024, 32*runtime.NumCPU())
	if p.Process {
		limit *= 4
	}
	return limit
}

// confine is the last stage: it gives up everything that the command must not have, and becomes the command. All of
// it happens on one thread, the one that execs; what the others still hold dies with them.
func confine(args []string) int {
	runtime.LockOSThread()
	if err := keepParentDeathSignal(); err != nil {
		return complain(err)
	}
	p, err := planFrom(args)
	if err != nil {
		return complain(err)
	}
	environment, err := receiveEnvironment()
	if err != nil {
		return complain(fmt.Errorf("sandbox: reading the environment: %w", err))
	}
	trouble, err := p.standardFiles()
	if err != nil {
		return complain(err)
	}
	if p.Online {
		variables, err := p.openRelay()
		if err != nil {
			_, _ = unix.Write(trouble, []byte(err.Error()))
			return 1
		}
		environment = append(variables, environment...) // the command's own entries win
	}
	unix.Umask(0o022)
	_, _ = unix.Setsid() // fails where we lead a session already
	if err := p.restrict(); err != nil {
		_, _ = unix.Write(trouble, []byte(err.Error()))
		return 1
	}
	if p.Start != "" {
		if err := os.Chdir(p.Start); err != nil {
			_, _ = unix.Write(trouble, []byte(err.Error()))
			return 1
		}
	}
	if _, err := unix.Write(trouble, []byte(ready)); err != nil {
		return 1 // the supervisor would say of a command that has run that it had not begun
	}
	setEnvironment(environment)
	err = execProgram(p.Argv)
	if p.Process {
		if p.Method == byBubblewrap { // the start is over for the supervisor, see noteTrouble: only the process's own stream is read
			trouble = 2
		}
		_, _ = unix.Write(trouble, []byte(err.Error()))
		return exitNotExecutable
	}
	return explain(p.Argv[0], err)
}

// keepParentDeathSignal has the command die with its supervisor. The supervisor asked the kernel for that signal, but the kernel keeps it by thread, for
// the main thread (prctl(2), PR_SET_PDEATHSIG): a command that another thread execs would outlive a supervisor that is killed. Until the exec, the main
// thread has its own, so that no death is missed between the two.
func keepParentDeathSignal() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: asking for the parent-death signal: %w", err)
	}
	return nil
}

func receiveEnvironment() (entries []string, err error) {
	pipe := os.NewFile(environmentFD, "environment")
	defer pipe.Close()
	err = json.NewDecoder(pipe).Decode(&entries)
	return entries, err
}

// setEnvironment sets the environment of the program. That happens last, so that no entry affects the stage.
func setEnvironment(environment []string) {
	os.Clearenv()
	for _, entry := range environment {
		if name, value, isPair := strings.Cut(entry, "="); isPair {
			_ = os.Setenv(name, value)
		}
	}
}

// execProgram looks for the program on the PATH of its own environment, and turns this process into it, or says why not.
func execProgram(argv []string) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	err = syscall.Exec(program, argv, os.Environ())
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%s: the interpreter that it names does not exist", program)
	}
	return fmt.Errorf("%s: %w", program, err)
}

// standardFiles leaves a command /dev/null, and the output twice, and a process its three streams. Everything else closes
// at the exec. It returns the descriptor that was standard error, for our own troubles.
func (p plan) standardFiles() (trouble int, err error) {
	if trouble, err = unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, p.firstFile()+p.View.files()); err != nil {
		return 0, fmt.Errorf("sandbox: arranging descriptors: %w", err)
	}
	input, errs := inputFD, errorsFD
	if !p.Process {
		if input, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return 0, fmt.Errorf("sandbox: opening /dev/null: %w", err)
		}
		errs = 1
	}
	for from, to := range map[int]int{input: 0, errs: 2} {
		if err := unix.Dup3(from, to, 0); err != nil {
			return 0, fmt.Errorf("sandbox: arranging descriptors: %w", err)
		}
	}
	return trouble, closeOnExec()
}

func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("sandbox: listing descriptors: %w", err)
	}
	for _, entry := range open {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// explain says on the output why a program was not run, with the exit code that a shell would give.
func explain(name string, err error) int {
	code := exitNotExecutable
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		code = exitNotFound
		err = fmt.Errorf("no such program in the sandbox (PATH is %s)", os.Getenv("PATH"))
	}
	fmt.Printf("signoff: %s: %v\n", filepath.Base(name), err)
	return code
}

// restrict gives up what the method says. Its order matters: each step takes away what an earlier one needed.
func (p plan) restrict() error {
	p.offerToOOMKiller()
	if !p.Process {
		lowerPriority()
	}
	if err := p.inPlace(); err != nil {
		return err
	}
	if !p.Method.isolates() {
		if err := errors.Join(p.limitThreads(), dropAmbient()); err != nil {
			return err
		}
		return p.View.become()
	}
	for _, step := range []struct {
		doing string
		do    func() error
	}{
		{"leaving the server's keyring", newKeyring},
		{"setting limits", p.limits},
		{"looking at what is guarded", p.checkGuards},
		{"restricting files (Landlock)", p.landlock},
		{"dropping capabilities", p.dropPrivileges},
		{"forbidding new privileges", noNewPrivileges},
		{"filtering system calls", p.filterSystemCalls},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("sandbox: %s: %w", step.doing, err)
		}
	}
	return nil
}

// inPlace makes sure that the command works in the folder that was looked at. Between the look and the mount, another
// command could have put a link to the server's own data, or to a folder outside, in its place.
func (p plan) inPlace() error {
	if p.Folder == (identity{}) { // a process is where the operator says
		return nil
	}
	if here, err := identify("."); err != nil || here != p.Folder {
		return errors.New("sandbox: the working directory was replaced while the command was started")
	}
	return nil
}

// checkGuards makes sure that each guard is in its place. bubblewrap goes by names, and the file that had a name when the plan was
// made may have been moved away since by a command that runs beside this one.
func (p plan) checkGuards() error {
	for _, g := range p.Guards {
		if g.As == pinned {
			continue
		}
		if err := g.check(p.pathOf(g)); err != nil {
			return fmt.Errorf("%s is not guarded: %w", g.Path, err)
		}
	}
	return nil
}

func (g guard) check(path string) error {
	fd, err := openPlain(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var mount unix.Statfs_t
	var file unix.Stat_t
	if err := errors.Join(unix.Fstatfs(fd, &mount), unix.Fstat(fd, &file)); err != nil {
		return err
	}
	if mount.Flags&unix.ST_RDONLY == 0 {
		return errors.New("it can be written")
	}
	empty := mount.Type == unix.TMPFS_MAGIC || file.Mode&unix.S_IFMT == unix.S_IFCHR
	if g.As == hidden && !empty {
		return errors.New("it can be read")
	}
	return nil
}

// openPlain opens an absolute path that no link is part of.
func openPlain(path string) (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil {
			break
		}
		outer := fd
		fd, err = unix.Openat(outer, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(outer)
	}
	return fd, err
}

// offerToOOMKiller has the kernel kill commands first when memory runs out, agents next, and the server last.
func (p plan) offerToOOMKiller() {
	score := "1000"
	if p.Process {
		score = "500"
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0)
}

// lowerPriority puts the command behind the server and the supervisor on the processor. Among equals, the supervisor of a
// fork bomb would get its turn after ten thousand others, and kill too late.
func lowerPriority() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, commandNice)
}

const commandNice = 10

// newKeyring leaves the session keyring that the server may have been started with.
func newKeyring() error {
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == unix.ENOSYS || err == unix.EPERM { // no keyrings, or a container that forbids them: nothing to leave
		return nil
	}
	return err
}

// limitThreads stops a fork bomb before the supervisor has counted it. The kernel counts per user and user namespace:
// without one of our own, the user's other programs would count, too, and root is exempt.
func (p plan) limitThreads() error {
	if os.Getuid() == 0 || p.Method == bySubreaper {
		return nil
	}
	return lower(unix.RLIMIT_NPROC, uint64(p.maxThreads()))
}

func (p plan) limits() error {
	if err := p.limitThreads(); err != nil {
		return err
	}
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: maxFileSize, unix.RLIMIT_NOFILE: maxOpenFiles,
	} {
		if err := lower(resource, limit); err != nil {
			return err
		}
	}
	return nil
}

// lower sets a limit for good, but never raises one.
func lower(resource int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	limit = min(limit, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
}

func dropAmbient() error {
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("sandbox: dropping ambient capabilities: %w", err)
	}
	return nil
}

// dropPrivileges leaves no capabilities, and the command's user where that is another one. The bounding set goes, too, where we may still do that; bubblewrap does not leave us the
// right. Either way, an exec that may give no new privileges, which is the next step, gives root nothing back.
func (p plan) dropPrivileges() error {
	if err := dropAmbient(); err != nil {
		return err
	}
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err != nil && err != unix.EPERM && err != unix.EINVAL { // EINVAL: a kernel that does not know it yet
			return err
		}
	}
	if err := p.View.become(); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
