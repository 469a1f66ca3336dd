//go:build agents && linux

package agents

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"signoff/test/harness"
)

// Two of the agents start themselves a second time, and killing what was started leaves that second one at work. The
// test process therefore inherits every process whose parent has died (TestMain), so that all that an agent ever
// started stays below it in the tree, whatever session or group it has moved to.

func inheritOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// spared are processes which belong to no agent: models and servers.
var spared sync.Map

func spare(pid int) { spared.Store(pid, true) }

type process = harness.Proc

// running lists what lives below the test process beside what is spared. What has ended is taken off the tree.
func running() []process {
	for _, p := range harness.Processes() {
		if p.Dead() && p.Parent == os.Getpid() {
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil) // somebody else may have waited for it
		}
	}
	return slices.DeleteFunc(harness.Below(os.Getpid()), func(p process) bool {
		_, is := spared.Load(p.PID)
		return is
	})
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
			_ = unix.Kill(p.PID, unix.SIGKILL) // it may have ended meanwhile
		}
	}
}
