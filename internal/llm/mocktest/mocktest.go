// Package mocktest runs a mock of the vendors' APIs that others have written and keep: @copilotkit/aimock, from npm. Our
// own doubles send what we believe of the protocols; this one sends what somebody else believes.
package mocktest

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

//go:embed server
var server embed.FS

// files are what the server is installed from, and what it answers.
func files() fs.FS {
	sub, err := fs.Sub(server, "server")
	if err != nil {
		panic(err) // unreachable: it is embedded under this name
	}
	return sub
}

// Start installs the server and runs it on a free port of loopback until the test ends.
func Start(t testing.TB) (base string) {
	t.Helper()
	folder := install(t)
	ctx, cancel := context.WithCancel(context.Background())
	process := exec.CommandContext(ctx, "node", filepath.Join(folder, "node_modules/@copilotkit/aimock/dist/cli.js"),
		"--port", "0", "--host", "127.0.0.1", "--fixtures", "fixtures.json", "--chunk-size", "7", "--strict")
	process.Dir = folder
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	process.Stderr = process.Stdout
	if err := process.Start(); err != nil {
		t.Fatalf("node, which this test needs, cannot be started: %v", err)
	}
	read := make(chan struct{})
	address := make(chan string, 1)
	go func() {
		defer close(read)
		findAddress(bufio.NewScanner(output), address)
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = process.Wait() // it was killed
	})
	select {
	case base = <-address:
		return base
	case <-time.After(30 * time.Second):
		t.Fatal("the mock server did not say within 30 seconds where it listens")
		return ""
	}
}

// findAddress reads to the end, so that the server never waits for a reader.
func findAddress(lines *bufio.Scanner, address chan<- string) {
	listening := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines.Scan() {
		if found := listening.FindString(lines.Text()); found != "" {
			select {
			case address <- found:
			default:
			}
		}
	}
}

func install(t testing.TB) (folder string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Fatal("npm is not on the PATH; this test installs its server with it (Debian: apt-get install -y npm)")
	}
	folder = t.TempDir()
	if err := os.CopyFS(folder, files()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = folder
	if output, err := npm.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("npm cannot install the mock server: %w\n%s", err, output))
	}
	return folder
}
