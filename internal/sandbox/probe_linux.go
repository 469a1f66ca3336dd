package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"signoff/internal/domain"
)

// probe runs a trivial command by one method and says how it works, or returns why it does not. A machine without
// `true` can still have a sandbox, so an exit code of any kind will do.
func (s *Sandbox) probe(ctx context.Context, m method) (string, error) {
	if m == byBubblewrap && s.tools.Bubblewrap == "" {
		return "", errors.New("bubblewrap (bwrap) is not installed")
	}
	dir, err := os.MkdirTemp("", "signoff-probe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	trial := &Sandbox{kind: KindOff, method: m, tools: s.tools, memory: s.memory, lease: s.lease}
	result, err := trial.Run(ctx, domain.Command{Argv: []string{"true"}, Dir: dir, Timeout: probeTimeout}, io.Discard)
	if err != nil {
		return "", err
	}
	if result.TimedOut {
		return "", errors.New("a trivial command did not end in time")
	}
	return s.describe(m), nil
}

func (s *Sandbox) describe(m method) string {
	switch m {
	case byBubblewrap:
		return fmt.Sprintf("Commands run in bubblewrap (%s), %s.", s.tools.Bubblewrap, landlockState())
	case byNamespaces:
		return fmt.Sprintf("Commands run in namespaces of their own, %s.", landlockState())
	case byPIDNamespace:
		return "Commands run without isolation, in a PID namespace, so that none survives."
	default:
		return "Commands run without isolation; a supervisor kills what they leave, unless they kill it first."
	}
}

func landlockState() string {
	if abi := landlockABI(); abi >= 2 {
		return fmt.Sprintf("with Landlock (ABI %d) behind the mounts", abi)
	}
	return "without Landlock, which this kernel does not have"
}
