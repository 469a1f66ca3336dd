package writers

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// group is a group of fanotify: marks on mounts, and the queue of their events.
type group struct {
	fd     int
	file   *os.File // of fd, so that the runtime waits for events
	waiter syscall.RawConn
	buffer []byte
}

// event is a write to a file, or an event that is lost.
type event struct {
	pid     int32 // 0: outside the server's PID namespace
	path    string
	dropped bool
}

// written are the events of a mount that report files that may have changed.
const written = unix.FAN_MODIFY | unix.FAN_CLOSE_WRITE

// batch is the number of events that one read takes, at most. The kernel opens a file for each of them.
const batch = 64

func newGroup() (*group, error) {
	fd, err := initGroup(unix.FAN_REPORT_FD_ERROR)
	if errors.Is(err, unix.EINVAL) {
		fd, err = initGroup(0) // before Linux 6.13
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("fanotify takes CAP_SYS_ADMIN in the initial user namespace: %w", err)
	case err != nil:
		return nil, fmt.Errorf("fanotify: %w", err)
	}
	g := &group{fd: fd, file: os.NewFile(uintptr(fd), "fanotify"), buffer: make([]byte, batch*unix.FAN_EVENT_METADATA_LEN)}
	if g.waiter, err = g.file.SyscallConn(); err != nil {
		_ = g.file.Close()
		return nil, err
	}
	return g, nil
}

func initGroup(flags uint) (fd int, err error) {
	// A written file may be a pipe, whose opening waits without O_NONBLOCK.
	return unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_NONBLOCK|unix.FAN_CLOEXEC|flags, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_LARGEFILE|unix.O_CLOEXEC)
}

// mark makes the kernel queue the events of the mount on which a folder lies.
func (g *group) mark(folder *os.File) error { return g.change(unix.FAN_MARK_ADD, folder) }

func (g *group) unmark(folder *os.File) error { return g.change(unix.FAN_MARK_REMOVE, folder) }

func (g *group) change(how uint, folder *os.File) error {
	if err := unix.FanotifyMark(g.fd, how|unix.FAN_MARK_MOUNT, written, int(folder.Fd()), ""); err != nil {
		return fmt.Errorf("fanotify_mark: %w", err)
	}
	return nil
}

// wait calls queued whenever there may be events. It returns when the group is closed.
func (g *group) wait(queued func()) {
	_ = g.waiter.Read(func(uintptr) bool {
		queued()
		return false
	})
}

// read takes the events that are in the queue now, and no later ones: otherwise it would never end while others write faster than it reads.
func (g *group) read(take func(event)) error {
	queued, err := unix.IoctlGetInt(g.fd, unix.TIOCINQ)
	if err != nil {
		return fmt.Errorf("fanotify: %w", err)
	}
	for left := queued; left > 0; {
		n, err := unix.Read(g.fd, g.buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil // the kernel has dropped events of files that are gone
		case err != nil:
			return fmt.Errorf("fanotify: %w", err)
		}
		left -= n
		for at := 0; at < n; {
			metadata := (*unix.FanotifyEventMetadata)(unsafe.Pointer(&g.buffer[at])) //nolint:gosec // the kernel has written it there
			take(newEvent(metadata))
			at += int(metadata.Event_len)
		}
	}
	return nil
}

func newEvent(metadata *unix.FanotifyEventMetadata) event {
	e := event{pid: metadata.Pid}
	if metadata.Fd < 0 { // the queue has overflowed, or the kernel could not open the file
		e.pid, e.dropped = 0, true
		return e
	}
	path, err := os.Readlink(descriptor(int(metadata.Fd)))
	_ = unix.Close(int(metadata.Fd))
	e.path, e.dropped = strings.TrimSuffix(path, " (deleted)"), err != nil
	return e
}

func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (g *group) close() error { return g.file.Close() }
