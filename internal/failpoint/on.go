//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Enabled reports whether this is a build for tests.
const Enabled = true

// trap is what this process was told.
type trap struct {
	name    Name         // where it dies; empty: nowhere
	left    atomic.Int64 // how many hits are left until then
	log     *os.File     // nil where nobody wants to know
	reached sync.Map     // the names that are in the log
}

var armed atomic.Pointer[trap]

// Arm has the process die at a name ("name", or "name:n" for the nth time), and tell in the file log which names it
// reaches. Either may be empty. It is called once, before anything else runs.
func Arm(spec, log string) (err error) {
	t := &trap{}
	if t.name, err = t.parse(spec); err != nil {
		return err
	}
	if log != "" {
		if t.log, err = os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil { //nolint:gosec // the test that arms it says where
			return err
		}
	}
	armed.Store(t)
	return nil
}

func (t *trap) parse(spec string) (Name, error) {
	name, count, counted := strings.Cut(spec, ":")
	n := int64(1)
	if counted {
		var err error
		if n, err = strconv.ParseInt(count, 10, 64); err != nil || n < 1 {
			return "", fmt.Errorf("failpoint: %q is not how often a name is to be reached", count)
		}
	}
	if spec != "" && !slices.Contains(All(), Name(name)) {
		return "", fmt.Errorf("failpoint: there is no name %q", name)
	}
	t.left.Store(n)
	return Name(name), nil
}

// Hit kills the process where it is armed for name. The empty name is none.
func Hit(name Name) {
	t := armed.Load()
	if t == nil || name == "" {
		return
	}
	t.note(name)
	if name == t.name && t.left.Add(-1) == 0 {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // it takes the kernel a moment
	}
}

// note appends a name when it is reached for the first time, in one write, so that the lines of two servers never mix.
func (t *trap) note(name Name) {
	if t.log == nil {
		return
	}
	if _, known := t.reached.LoadOrStore(name, true); !known {
		_, _ = t.log.WriteString(string(name) + "\n")
	}
}
