package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is a machine of an operator, made for a test: it has this machine's programs, files and users of its own, and a network of its own.
// What a test writes to /etc or /var/log there, nobody else sees, and it is gone with the machine.
//
// It is a thread in a mount namespace and a network namespace of its own. Only root can make one. Any number of goroutines may use it.
type Machine struct {
	thread thread
	tid    int
}

// ownFolders begin empty on a [Machine], except /etc, which is a copy. All others are this machine's.
var ownFolders = []string{"/data", "/etc", "/home", "/opt", "/run", "/srv", "/usr/local/bin", "/var/log"}

// NewMachine makes a machine. An empty folder is the place of its root. Close ends it.
func NewMachine(folder string) (*Machine, error) {
	m, err := newNamespaces(unix.CLONE_NEWNS | unix.CLONE_NEWNET)
	if err != nil {
		return nil, err
	}
	if err := m.Do(func() error { return errors.Join(changeRoot(folder), run("ip", "link", "set", "lo", "up")) }); err != nil {
		m.Close()
		return nil, fmt.Errorf("harness: making a machine: %w", err)
	}
	return m, nil
}

// Neighbor makes another machine, with a network alone. The two reach each other at these addresses, such as 10.20.0.1/16.
func (m *Machine) Neighbor(own, neighbors string) (*Machine, error) {
	other, err := newNamespaces(unix.CLONE_NEWNET)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		m.Do(func() error {
			return errors.Join(
				run("ip", "link", "add", "there", "type", "veth", "peer", "name", "here", "netns", strconv.Itoa(other.tid)),
				run("ip", "address", "add", own, "dev", "there"), run("ip", "link", "set", "there", "up"))
		}),
		other.Do(func() error {
			return errors.Join(run("ip", "address", "add", neighbors, "dev", "here"), run("ip", "link", "set", "here", "up"), run("ip", "link", "set", "lo", "up"))
		}))
	if err != nil {
		other.Close()
		return nil, fmt.Errorf("harness: making a neighbor: %w", err)
	}
	return other, nil
}

// Close ends the machine. Its processes die.
func (m *Machine) Close() { close(m.thread) }

// Do calls a function that sees the files and the network of the machine.
func (m *Machine) Do(call func() error) error { return m.thread.do(call) }

// Path is where this program finds a file of the machine.
func (m *Machine) Path(path string) string {
	return filepath.Join("/proc/self/task", strconv.Itoa(m.tid), "root", path)
}

// Start is [Start] on the machine.
func (m *Machine) Start(command *exec.Cmd) (*Process, error) {
	attributes(command)
	return watch(command, m.Do(command.Start))
}

// Listen listens at an address of the machine.
func (m *Machine) Listen(network, address string) (listener net.Listener, err error) {
	return listener, m.Do(func() error {
		listener, err = net.Listen(network, address)
		return err
	})
}

// Dial connects to an address of the machine, which holds up everything else on it.
func (m *Machine) Dial(ctx context.Context, network, address string) (connection net.Conn, err error) {
	return connection, m.Do(func() error {
		connection, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
}

// newNamespaces starts a thread in new namespaces. The thread is never given back to the Go runtime: it ends when the machine is closed.
func newNamespaces(flags int) (*Machine, error) {
	m := &Machine{thread: make(thread)}
	made := make(chan error)
	go func() {
		runtime.LockOSThread()
		m.tid = unix.Gettid()
		err := unix.Unshare(flags)
		made <- err
		if err == nil {
			m.thread.work()
		}
	}()
	return m, <-made
}

// changeRoot gives the calling thread a root folder of its own, in memory, with the folders of this machine but [ownFolders].
func changeRoot(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := bring(root, "/"+entry.Name(), entry); err != nil {
			return err
		}
	}
	for _, folder := range ownFolders {
		if err := os.MkdirAll(root+folder, 0o755); err != nil { //nolint:gosec // every user of the machine enters these
			return err
		}
		if strings.Count(folder, "/") > 1 { // its parent is this machine's
			if err := unix.Mount("tmpfs", root+folder, "tmpfs", 0, "mode=755"); err != nil {
				return err
			}
		}
	}
	if err := run("cp", "-a", "/etc/.", root+"/etc"); err != nil {
		return err
	}
	old := root + "/data"
	if err := unix.PivotRoot(root, old); err != nil {
		return err
	}
	if err := unix.Unmount("/data", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// bring mounts a folder of this machine on another one, or makes the same link there.
func bring(root, path string, entry os.DirEntry) error {
	switch {
	case slices.Contains(ownFolders, path):
		return nil
	case entry.Type()&os.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(to, root+path)
	case entry.IsDir():
		if err := os.Mkdir(root+path, 0o755); err != nil { //nolint:gosec // every user of the machine enters these
			return err
		}
		return unix.Mount(path, root+path, "", unix.MS_BIND|unix.MS_REC, "")
	}
	return nil
}

func run(name string, arguments ...string) error {
	var said bytes.Buffer
	command := exec.Command(name, arguments...)
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, said.String())
	}
	return nil
}
