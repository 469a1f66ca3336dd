package acp

import (
	"os"
	"testing"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/relay"
	"signoff/internal/sandbox"
)

// TestMain serves the stages of the sandbox, as main does: the scripted agents run under its supervisor.
func TestMain(m *testing.M) {
	relay.Intercept(os.Args, os.Environ())
	sandbox.Intercept()
	os.Exit(acptest.Main(acptest.LeakFree{Tests: m}))
}
