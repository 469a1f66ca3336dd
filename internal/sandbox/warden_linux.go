package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The warden is PID 1 of the namespaces that we make ourselves. It builds the walls, starts the command, buries
// orphans, and takes everything with it when it ends. As root, bubblewrap runs below one, too, for the limit on
// processes.

// ward is the warden's stage. It exits as the command did.
func ward(args []string) int {
	p, err := planFrom(args)
	if err != nil {
		return complain(err)
	}
	go dieWithSupervisor()
	if err := p.settle(); err != nil {
		return complain(err)
	}
	requests := make(chan os.Signal, 1)
	if p.Process {
		signal.Notify(requests, unix.SIGTERM)
	}
	command, err := p.startNext()
	if err != nil {
		return complain(fmt.Errorf("sandbox: starting the next stage: %w", err))
	}
	if p.Process {
		retire()
		go passOn(requests, command)
	}
	return waitFor(command)
}

// retire lets go of a process's streams, and of the trouble pipe, whose end tells the supervisor that the process runs.
// What the warden still has to complain about goes to the process's errors.
func retire() {
	for _, standard := range []int{1, 2} {
		_ = unix.Dup3(errorsFD, standard, unix.O_CLOEXEC)
	}
	_ = unix.Close(inputFD)
	_ = unix.Close(errorsFD)
}

// passOn asks the process to end, as the supervisor has asked the warden.
func passOn(requests <-chan os.Signal, process int) {
	for range requests {
		_ = unix.Kill(process, unix.SIGTERM)
	}
}

// dieWithSupervisor stands beside the parent-death signal, which the kernel forgets on some changes of credentials.
func dieWithSupervisor() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	syscall.Exit(128 + int(unix.SIGKILL))
}

// settle makes the namespaces what the command is to see.
func (p plan) settle() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|p.propagation(), ""); err != nil {
		return fmt.Errorf("sandbox: keeping mounts private: %w", err)
	}
	if p.Method != byNamespaces {
		return errors.Join(mountProc("/proc"), limitProcesses("/proc", p.maxThreads()))
	}
	if err := p.buildRoot(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("sandbox: setting the host name: %w", err)
	}
	return loopbackUp()
}

// propagation keeps our mounts from going out. A process lives for hours, so what is mounted outside must come in: a home
// folder that is mounted on demand would otherwise be an error (ELOOP) for as long as it lives.
func (p plan) propagation() uintptr {
	if p.Process {
		return unix.MS_SLAVE
	}
	return unix.MS_PRIVATE
}

func mountProc(target string) error {
	err := unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err == unix.EPERM {
		return fmt.Errorf("sandbox: the kernel refuses a fresh /proc, as it does where parts of /proc are covered up, "+
			"in most containers: %w", err)
	}
	if err != nil {
		return fmt.Errorf("sandbox: mounting /proc: %w", err)
	}
	return nil
}

// limitProcesses puts the bound on a fork bomb into the kernel, where root is concerned: RLIMIT_NPROC does not hold for
// root, and a supervisor among ten thousand running processes gets no processor time to kill them with.
//
// Before Linux 6.14 this setting is not the namespace's own but the whole machine's, so there it is left alone.
func limitProcesses(proc string, threads int) error {
	if !processLimitIsOurs() || !privileged() {
		return nil
	}
	err := os.WriteFile(proc+"/sys/kernel/pid_max", fmt.Appendf(nil, "%d", threads), 0) //nolint:gosec // the path is ours
	if err != nil {
		return fmt.Errorf("sandbox: limiting processes: %w", err)
	}
	return nil
}

func processLimitIsOurs() bool {
	var name unix.Utsname
	var major, minor int
	if unix.Uname(&name) != nil {
		return false
	}
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 14)
}

// loopbackUp lets programs inside talk to themselves, as test suites do. It leads nowhere else.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // a kernel without IPv4 has nothing to bring up
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("sandbox: bringing up the loopback: %w", err)
	}
	return nil
}

// startNext starts the last stage, or bubblewrap that does. The warden makes itself opaque first, so that no command
// can look into it or borrow its descriptors.
func (p plan) startNext() (int, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{
		Dir: p.Dir, Env: p.stageEnvironment(), Files: []uintptr{0, 1, 2, binaryFD, environmentFD},
		Sys: &syscall.SysProcAttr{AmbientCaps: ambient()},
	}
	switch {
	case p.Process:
		attr.Files = append(attr.Files, inputFD, errorsFD)
	case p.Online:
		attr.Files = append(attr.Files, courierFD)
		defer unix.Close(courierFD)
	}
	if p.Method == byBubblewrap {
		return syscall.ForkExec(p.Tools.Bubblewrap, p.bubblewrap(), attr)
	}
	return syscall.ForkExec(self, p.stage(confineArg), attr)
}

// waitFor buries orphans until the command itself has ended.
func waitFor(command int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return complain(fmt.Errorf("sandbox: waiting for the command: %w", err))
		case pid == command:
			return exitCode(status)
		}
	}
}

// wardenCaps is what it takes to build the walls. An ordinary user keeps his id inside, and would lose all of it at
// the exec of the stage, were it not ambient.
var wardenCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

func ambient() []uintptr {
	if privileged() {
		return nil
	}
	return wardenCaps
}

// privileged tells whether namespaces can be made without a user namespace: root, unless in a container that is not
// trusted with it.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil || os.Geteuid() != 0 {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// unshare sets the namespaces that a warden is born into.
func (p plan) unshare(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if p.Method == byNamespaces {
		attr.Cloneflags |= unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	}
	if privileged() {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = wardenCaps
}
