package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
