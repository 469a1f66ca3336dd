package sandbox

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lease is the moment until which the server may have things run. It lies in memory that the server shares with its
// supervisors, because they must see it end also when the server cannot tell them: a server that stands still holds its
// pipes open, and goes on holding them while another one takes over its executions.
type lease struct {
	deadline *atomic.Int64 // on the clock of [bootTime]; 0 is no deadline
	readOnly *os.File      // the same memory, for supervisors; nil in them
}

const (
	leaseSize    = 8
	leaseLook    = time.Second            // how often a supervisor looks whether the deadline has moved
	longestTrust = time.Duration(1 << 62) // so that no sum overflows
)

// newLease makes one without a deadline. It lasts as long as this process.
func newLease() (*lease, error) {
	fd, err := unix.MemfdCreate("signoff-lease", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("sandbox: memory for the lease: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, leaseSize); err != nil {
		return nil, fmt.Errorf("sandbox: memory for the lease: %w", err)
	}
	deadline, err := mapDeadline(fd, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	if err := seal(fd); err != nil {
		return nil, err
	}
	readOnly, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	return &lease{deadline: deadline, readOnly: readOnly}, err
}

// seal leaves the mapping that there is as the only one that can be written, whoever gets hold of the descriptor, and
// the memory at its size: a mapping of what is not there any more is a crash.
func seal(fd int) error {
	const size = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, size|unix.F_SEAL_FUTURE_WRITE)
	if err == unix.EINVAL { // before Linux 5.1
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, size)
	}
	if err != nil {
		return fmt.Errorf("sandbox: sealing the memory of the lease: %w", err)
	}
	return nil
}

// inheritedLease is the server's, in a supervisor. The descriptor is closed, so no stage below inherits it, and a
// mapping does not outlive an exec.
func inheritedLease() (*lease, error) {
	defer unix.Close(handedLease)
	deadline, err := mapDeadline(handedLease, unix.PROT_READ)
	return &lease{deadline: deadline}, err
}

func mapDeadline(fd, protection int) (*atomic.Int64, error) {
	memory, err := unix.Mmap(fd, 0, leaseSize, protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("sandbox: mapping the lease: %w", err)
	}
	return (*atomic.Int64)(unsafe.Pointer(&memory[0])), nil
}

// trust moves the deadline. The clock is read first: a server that is stopped between the two readings then trusts
// itself for a shorter time, and not for a longer one.
func (l *lease) trust(until time.Time) {
	if until.IsZero() {
		l.deadline.Store(0)
		return
	}
	now := bootTime()
	l.deadline.Store(max(1, now+int64(min(time.Until(until), longestTrust))))
}

func (l *lease) isOver() bool {
	deadline := l.deadline.Load()
	return deadline != 0 && bootTime() >= deadline
}

// awaitEnd closes over when the deadline has passed.
func (l *lease) awaitEnd(alarm int, over chan<- struct{}) {
	defer close(over)
	for !l.isOver() {
		if err := l.sleep(alarm); err != nil {
			return // the end of the lease could not be seen any more
		}
	}
}

// sleep returns at the deadline, or a little earlier: it may have moved. Who sleeps until then in many short naps has a
// hundred idle agents cost half a processor.
func (l *lease) sleep(alarm int) error {
	next := bootTime() + int64(leaseLook)
	if deadline := l.deadline.Load(); deadline != 0 {
		next = min(next, deadline)
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(next)}
	if err := unix.TimerfdSettime(alarm, unix.TFD_TIMER_ABSTIME, &at, nil); err != nil {
		return err
	}
	_, err := unix.Read(alarm, make([]byte, 8))
	if err == unix.EINTR {
		return nil
	}
	return err
}

// newAlarm makes a timer on the clock of the deadline. One of Go's own would stand still while the machine sleeps, and
// ring that much later.
func newAlarm() (int, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("sandbox: a timer for the lease: %w", err)
	}
	return fd, nil
}

// bootTime is the clock that goes on while the machine sleeps and that nobody sets, in nanoseconds. It is the same one
// for all processes.
func bootTime() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return now.Nano()
}
