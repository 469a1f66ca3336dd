//go:build agents && linux

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Two of the agents start themselves a second time, and killing what was started leaves that second one at work. The
// test process therefore inherits every process whose parent has died (TestMain), so that all that an agent ever
// started stays below it in the tree, whatever session or group it has moved to.

func inheritOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// spared are processes which belong to no agent: models and servers.
var spared sync.Map

func spare(pid int) { spared.Store(pid, true) }

// process is an entry of /proc.
type process struct {
	pid, parent int
	zombie      bool
	command     string
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.command) }

// running lists what lives below the test process beside what is spared. What has ended is taken off the tree.
func running() []process {
	below := map[int][]process{}
	for _, p := range all() {
		below[p.parent] = append(below[p.parent], p)
	}
	var found []process
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		for _, p := range below[queue[0]] {
			switch {
			case p.zombie && p.parent == os.Getpid():
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil) // somebody else may have waited for it
			case !p.zombie:
				if _, is := spared.Load(p.pid); !is {
					found = append(found, p)
				}
				queue = append(queue, p.pid)
			}
		}
		queue = queue[1:]
	}
	return found
}

func all() []process {
	var found []process
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		// The name of the command stands in brackets and may itself contain brackets and blanks.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		p := process{zombie: fields[0] == "Z" || fields[0] == "X"}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
		p.parent, _ = strconv.Atoi(fields[1])
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		p.command = strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		found = append(found, p)
	}
	return found
}

// sweep kills what agents have left running and returns what that was.
func sweep(t testing.TB) []process {
	t.Helper()
	left := running()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now := running()
		if len(now) == 0 {
			return left
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running after SIGKILL: %v", now)
		}
		for _, p := range now {
			_ = unix.Kill(p.pid, unix.SIGKILL) // it may have ended meanwhile
		}
	}
}
