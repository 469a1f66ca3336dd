//go:build mcp && linux

package mcp

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"signoff/internal/store/storetest"
	"signoff/test/harness"
)

// What the tests run, built once.
var binary, mortalBinary, hostile, conformance string

func TestMain(m *testing.M) { os.Exit(built(m)) }

func built(m *testing.M) int {
	folder, err := os.MkdirTemp("", "signoff-mcp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	binary, mortalBinary = filepath.Join(folder, "signoff"), filepath.Join(folder, "mortal")
	hostile, conformance = filepath.Join(folder, "hostile"), filepath.Join(folder, "conformance")
	for _, build := range []func() error{
		func() error { return harness.Build(binary) },
		func() error { return harness.Build(mortalBinary, "-tags", "failpoints") },
		func() error { return program(hostile, "signoff/test/mcp/hostile") },
		func() error { return program(conformance, "signoff/test/mcp/conformance") },
	} {
		if err := build(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return storetest.Main(m)
}

func program(path, of string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, of)
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", of, err, output)
	}
	return nil
}

//go:embed npm/package.json npm/package-lock.json
var manifest embed.FS

// npm is the folder in which the packages are installed.
var npm = sync.OnceValues(func() (string, error) {
	files, err := fs.Sub(manifest, "npm")
	if err != nil {
		return "", err
	}
	architecture := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	folder, err := harness.Manifest{Name: "mcp", Files: files, Needs: "node_modules/node-linux-" + architecture + "/bin/node"}.Installed(context.Background())
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o755) // servers run as another user
})

// node is the Node that runs the packages, and the script of one of them.
func node(t *testing.T, script string) (program, path string) {
	t.Helper()
	folder := must2(npm())(t)
	found := must2(filepath.Glob(filepath.Join(folder, "node_modules/node-linux-*/bin/node")))(t)
	return found[0], filepath.Join(folder, "node_modules/@modelcontextprotocol", script)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must2[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}
