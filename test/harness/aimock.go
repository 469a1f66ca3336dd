package harness

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

//go:embed aimock
var aimockFiles embed.FS

// aimock is a mock of the vendors' APIs that others have written and keep: @copilotkit/aimock, from npm. Our own doubles send
// what we believe of the protocols; this one sends what somebody else believes.
func aimock() Manifest {
	files, err := fs.Sub(aimockFiles, "aimock")
	if err != nil {
		panic(err) // unreachable: it is embedded under this name
	}
	return Manifest{Name: "aimock", Files: files, Needs: "node_modules/@copilotkit/aimock/dist/cli.js"}
}

// AimockFixtures are the answers of a mock that needs no others: those of the internal agent's tests.
func AimockFixtures() []byte {
	content, err := aimockFiles.ReadFile("aimock/fixtures.json")
	if err != nil {
		panic(err) // unreachable, as above
	}
	return content
}

// aimockPatience is how long the mock may take to say where it listens.
const aimockPatience = 30 * time.Second

// Aimock is such a server, which runs.
type Aimock struct {
	Base    string // http://127.0.0.1:…
	process *exec.Cmd
	read    chan struct{}
	answers string
}

// StartAimock installs the mock where that was not done before, and runs it on a free port of loopback until it is stopped.
// The program that runs it is a path to Node, or empty for that of the PATH.
func StartAimock(ctx context.Context, node string, fixtures []byte, flags ...string) (*Aimock, error) {
	folder, err := aimock().Installed(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := os.MkdirTemp("", "signoff-aimock-")
	if err != nil {
		return nil, err
	}
	m := &Aimock{answers: answers, read: make(chan struct{})}
	if err := m.start(node, filepath.Join(folder, aimock().Needs), fixtures, flags); err != nil {
		return nil, errors.Join(err, os.RemoveAll(answers))
	}
	return m, nil
}

func (m *Aimock) start(node, program string, fixtures []byte, flags []string) error {
	place := filepath.Join(m.answers, "fixtures.json")
	if err := os.WriteFile(place, fixtures, 0o600); err != nil {
		return err
	}
	if node == "" {
		node = "node"
	}
	m.process = exec.Command(node, append([]string{program, "--port", "0", "--host", "127.0.0.1", "--fixtures", place}, flags...)...)
	output, err := m.process.StdoutPipe()
	if err != nil {
		return err
	}
	m.process.Stderr = m.process.Stdout
	if err := m.process.Start(); err != nil {
		return fmt.Errorf("node, which the mock needs, cannot be started: %w", err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(m.read)
		findAddress(output, address)
	}()
	select {
	case m.Base = <-address:
		return nil
	case <-time.After(aimockPatience):
		return errors.Join(fmt.Errorf("the mock did not say within %s where it listens", aimockPatience), m.end())
	}
}

// PID is the number of its process.
func (m *Aimock) PID() int { return m.process.Process.Pid }

// Stop ends the mock.
func (m *Aimock) Stop() error { return errors.Join(m.end(), os.RemoveAll(m.answers)) }

func (m *Aimock) end() error {
	err := m.process.Process.Kill()
	<-m.read
	_ = m.process.Wait() // it was killed
	return err
}

var loopback = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// findAddress reads to the end, so that the mock never waits for a reader.
func findAddress(output io.Reader, address chan<- string) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if found := loopback.FindString(lines.Text()); found != "" {
			select {
			case address <- found:
			default:
			}
		}
	}
}
