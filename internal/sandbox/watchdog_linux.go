package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The watchdog is PID 1 of the namespaces that we make ourselves. It builds the isolation, starts the command, reaps
// orphans, and its end kills everything. As root, bubblewrap runs below one, too, for the limit on processes.

// watchdog is that stage. It exits as the command did.
func watchdog(args []string) int {
	p, err := planFrom(args)
	if err != nil {
		return complain(err)
	}
	go dieWithSupervisor()
	if err := p.isolate(); err != nil {
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
		releaseWatchdogStreams()
		go forwardTerminate(requests, command)
	}
	return waitFor(command)
}

// releaseWatchdogStreams closes a process's streams, and of the trouble pipe, whose end tells the supervisor that the process runs.
// Later complaints of the watchdog go to the process's errors.
func releaseWatchdogStreams() {
	for _, standard := range []int{1, 2} {
		_ = unix.Dup3(errorsFD, standard, unix.O_CLOEXEC)
	}
	_ = unix.Close(inputFD)
	_ = unix.Close(errorsFD)
}

// forwardTerminate asks the process to end, as the supervisor has asked the watchdog.
func forwardTerminate(requests <-chan os.Signal, process int) {
	for range requests {
		_ = unix.Kill(process, unix.SIGTERM)
	}
}

// dieWithSupervisor stands beside the parent-death signal, which the kernel forgets on some changes of credentials.
func dieWithSupervisor() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	syscall.Exit(128 + int(unix.SIGKILL))
}

// isolate sets the namespaces up for the command.
func (p plan) isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|p.propagation(), ""); err != nil {
		return fmt.Errorf("sandbox: keeping mounts private: %w", err)
	}
	if p.Method != byNamespaces {
		return errors.Join(mountProc("/proc"), limitProcesses("/proc", p.maxThreads()), p.mapInPlace())
	}
	if err := p.buildRoot(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("sandbox: setting the host name: %w", err)
	}
	return loopbackUp()
}

// mapInPlace mounts folders whose owners are mapped over themselves, for bubblewrap to bind. All copies are made first: a copy of a mapped mount cannot
// be mapped again, and the workspace may lie in a mount of the environment.
func (p plan) mapInPlace() error {
	places := append([]shown{{Path: p.Dir, Owner: p.Owner}}, p.View.Shown...)
	places = slices.DeleteFunc(places, func(one shown) bool { return one.Owner == 0 })
	slices.SortStableFunc(places, func(a, b shown) int { return strings.Compare(a.Path, b.Path) }) // outer ones first
	places = slices.CompactFunc(places, func(a, b shown) bool { return a.Path == b.Path })
	var trees []int
	for _, one := range places {
		tree, err := clone(unix.AT_FDCWD, one.Path, writableMount)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		if err := mapOwner(tree, p.ownerFD(one.Owner)); err != nil {
			return fmt.Errorf("sandbox: mapping the owner of %s: %w", one.Path, err)
		}
		trees = append(trees, tree)
	}
	for i, one := range places {
		if err := unix.MoveMount(trees[i], "", unix.AT_FDCWD, one.Path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("sandbox: mounting %s: %w", one.Path, err)
		}
	}
	return nil
}

// propagation keeps our mounts from going out. A process lives for hours, so what is mounted outside must come in: a home
// folder that is mounted on demand would otherwise be an error (ELOOP) for as long as it lives.
func (p plan) propagation() uintptr {
	if p.Process {
		return unix.MS_SLAVE
	}
	return unix.MS_PRIVATE
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

// startNext starts the last stage, or bubblewrap that does. The watchdog makes itself undumpable first, so that no
// command can read its memory or copy its descriptors.
func (p plan) startNext() (int, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{
		Dir: p.Dir, Env: p.stageEnvironment(), Files: []uintptr{0, 1, 2, binaryFD, environmentFD},
		Sys: &syscall.SysProcAttr{},
	}
	if !privileged() {
		attr.Sys.AmbientCaps = watchdogCaps
	}
	if p.Process {
		attr.Files = append(attr.Files, inputFD, errorsFD)
	}
	if p.Online {
		attr.Files = append(attr.Files, uintptr(p.relayFD()))
		defer unix.Close(p.relayFD())
	}
	if p.Method == byBubblewrap {
		for i := range p.View.files() {
			attr.Files = append(attr.Files, uintptr(p.firstFile()+i))
		}
		return syscall.ForkExec(p.Tools.Bubblewrap, p.bubblewrap(), attr)
	}
	return syscall.ForkExec(self, p.stage(confineArg), attr)
}

// waitFor reaps orphans until the command itself has ended.
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
