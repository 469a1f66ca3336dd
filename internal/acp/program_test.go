package acp

import (
	"testing"

	"signoff/internal/domain"
)

// TestAgentWithoutOutputIsKilled: it lives, and nothing can come of it.
func TestAgentWithoutOutputIsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch.Process.Argv = []string{"/bin/sh", "-c", "exec 1>&-; exec sleep 60"}
	message := r.fails(r.tryOpen(), domain.CodeAgentExited)
	want(t, "message", message, "The agent's process was killed, because it had closed its output and did not end.")
}
