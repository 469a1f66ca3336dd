package harness

import (
	"fmt"
	"os"
	"os/exec"
)

// Build compiles the server to a path, as `make build` does, so that Go finds what it depends on in its cache. Flags come on top:
// with -race or -cover the binary is another one.
func Build(path string, flags ...string) error {
	arguments := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", path}, flags...)
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
