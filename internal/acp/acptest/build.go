package acptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program is the agent's binary, built by the first test that needs it.
var program struct {
	once   sync.Once
	folder string
	path   string
	err    error
}

// Main runs the tests and removes the agent's binary, if one was built. A package's TestMain hands its m to it
// (anything with Run will do, so that it can be wrapped around other checks) and exits with the answer.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if program.folder == "" {
		return code
	}
	if err := os.RemoveAll(program.folder); err != nil {
		fmt.Fprintln(os.Stderr, "acptest:", err)
		return max(code, 1)
	}
	return code
}

// Build returns the path of the agent's binary. It is the same one for all tests of the process, and lives until Main
// removes it.
func Build(tb testing.TB) (path string) {
	tb.Helper()
	program.once.Do(build)
	if program.err != nil {
		tb.Fatalf("acptest: %v", program.err)
	}
	return program.path
}

func build() {
	folder, err := os.MkdirTemp("", "signoff-acptest-")
	if err != nil {
		program.err = err
		return
	}
	program.folder, program.path = folder, filepath.Join(folder, "agent")
	// Without cgo it starts faster, and runs in a sandbox that has no C library.
	command := exec.Command("go", "build", "-trimpath", "-o", program.path, "signoff/internal/acp/acptest/agent")
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		program.err = fmt.Errorf("the agent cannot be built: %w\n%s", err, output)
	}
}

// Prompt is a prompt's text with these steps in it.
func Prompt(steps ...string) string {
	var text strings.Builder
	for _, step := range steps {
		text.WriteString("#! " + step + "\n")
	}
	return text.String()
}
