package registry

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/relay"
	"signoff/internal/sandbox"
)

// TestMain serves the stages of the sandbox, as main does: the scripted agents run under its supervisor.
func TestMain(m *testing.M) {
	relay.Intercept(os.Args, os.Environ())
	sandbox.Intercept()
	os.Exit(acptest.Main(leakFree{m}))
}

// leakFree fails tests that leave goroutines behind.
type leakFree struct{ m *testing.M }

func (l leakFree) Run() int {
	code := l.m.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
