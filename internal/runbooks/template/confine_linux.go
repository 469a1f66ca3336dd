package template

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxMemory  = 256 << 20 // beyond what the process has when it starts
	maxSeconds = 1         // of processor time
)

// The work of a child is bounded by its processor time. The clock is the last stop, for a child that gets no processor: on a busy machine
// it stands for seconds before it does a millisecond's work, and that is no fault of its template.
const (
	boundsWork   = true
	usualTimeout = 30 * time.Second
)

// confine takes the limits of a child. Where the soft limit of time is the hard one, too, the kernel kills; Go ignores
// the signal of the soft one. A core dump would write the variables to the disk.
func confine() error {
	limits := map[int]uint64{
		unix.RLIMIT_DATA:  inUse() + maxMemory,
		unix.RLIMIT_CPU:   maxSeconds,
		unix.RLIMIT_FSIZE: 0,
		unix.RLIMIT_CORE:  0,
	}
	for resource, limit := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// inUse is what the runtime has reserved so far, in bytes, or 0 where the kernel does not say. A binary built with the
// race detector has reserved far more than any limit.
func inUse() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, line, _ := strings.Cut(string(status), "VmData:")
	line, _, _ = strings.Cut(line, "kB")
	kilobytes, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// alone puts the child into a process group of its own, and lets it die with the server.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill ends the child's whole group.
func kill(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
