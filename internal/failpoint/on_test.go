//go:build failpoints

package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain plays the process that is killed: its arguments are what it is armed with, and how often it hits.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "__victim" {
		victim(os.Args[2], os.Args[3], os.Args[4])
	}
	os.Exit(m.Run())
}

func victim(spec, log, hits string) {
	if err := Arm(spec, log); err != nil {
		os.Exit(2)
	}
	n, _ := strconv.Atoi(hits)
	for range n {
		Hit(BeforeTakeHeads)
		Hit(BeforeBatch)
	}
	os.Exit(0)
}

// TestKill hits two names in turn.
func TestKill(t *testing.T) {
	both := []Name{BeforeTakeHeads, BeforeBatch}
	for _, c := range []struct {
		spec   string
		hits   int
		killed bool
		log    []Name
	}{
		{"", 1, false, both},
		{string(BeforeTakeHeads), 1, true, both[:1]},
		{string(BeforeBatch), 1, true, both},
		{string(BeforeBatch) + ":1", 1, true, both},
		{string(BeforeTakeHeads) + ":3", 2, false, both},
		{string(BeforeTakeHeads) + ":3", 3, true, both},
		{string(AfterAnswer), 3, false, both},
	} {
		log := filepath.Join(t.TempDir(), "log")
		err := exec.Command(os.Args[0], "__victim", c.spec, log, strconv.Itoa(c.hits)).Run()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if killed != c.killed || (err != nil && !killed) {
			t.Errorf("%q, %d hits: %v", c.spec, c.hits, err)
		}
		want := ""
		for _, name := range c.log {
			want += string(name) + "\n"
		}
		if text, err := os.ReadFile(log); err != nil || string(text) != want {
			t.Errorf("%q, %d hits: log %q, %v", c.spec, c.hits, text, err)
		}
	}
}

func TestArmRefuses(t *testing.T) {
	for _, spec := range []string{"nothing", "nothing:1", ":1", string(BeforeBatch) + ":0", string(BeforeBatch) + ":-1", string(BeforeBatch) + ":x", string(BeforeBatch) + ":"} {
		if err := Arm(spec, ""); err == nil {
			t.Errorf("%q was taken", spec)
		}
	}
	if err := Arm("", filepath.Join(t.TempDir(), "missing", "log")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a log that cannot be written: %v", err)
	}
	if armed.Load() != nil {
		t.Error("it is armed all the same")
	}
}
