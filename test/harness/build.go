package harness

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// Build compiles the server to a path, as `make build` does, so that Go finds what it depends on in its cache. Flags come on top:
// with -race or -cover the binary is another one. With TEST_STAGE in the environment, a binary with -race starts the stages of its commands from that one.
func Build(path string, flags ...string) error {
	linking := "-ldflags=-s -w"
	if stage := os.Getenv("TEST_STAGE"); stage != "" && slices.Contains(flags, "-race") {
		linking += " -X signoff/internal/sandbox.program=" + stage
	}
	arguments := append([]string{"build", "-trimpath", linking, "-o", path}, flags...)
	build := exec.Command("go", append(arguments, "signoff/cmd/server")...)
	if len(flags) == 0 {
		build.Env = append(build.Environ(), "CGO_ENABLED=0") // the race detector needs cgo
	}
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("cannot build the server: %w", err)
	}
	return nil
}
