package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestTheAgentSaysItsScript(t *testing.T) {
	var out bytes.Buffer
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"bench","prompt":[{"type":"text","text":"bench chunks=3"}]}}`,
	}, "\n")
	if err := serveAgent(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"text":"@1`); n != 3 {
		t.Errorf("%d chunks in\n%s", n, &out)
	}
	if !strings.HasSuffix(out.String(), `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`+"\n") {
		t.Errorf("the turn does not end: %s", &out)
	}
	if err := serveAgent(strings.NewReader(strings.ReplaceAll(in, "chunks=3", "chunk=3")), &out); err == nil {
		t.Error("a misspelt script is taken")
	}
}

// The clock begins when the gate opens, so nothing may be said between the first chunk and that.
func TestTheAgentWaitsAtItsGate(t *testing.T) {
	gate, err := newGate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	asked, err := promptRequests(script{chunks: 3, gate: gate.path}.String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := serveAgent(bytes.NewReader(asked), write)
		write.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewReader(read)
	for said := ""; !strings.Contains(said, `"text":"@1`); {
		if said, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if n := lines.Buffered(); n > 0 {
		t.Errorf("%d bytes came before the gate was open", n)
	}
	if err := gate.open(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if n := strings.Count(string(rest), `"text":"@1`); n != 2 || err != nil || <-ended != nil {
		t.Errorf("%d more chunks, %v:\n%s", n, err, rest)
	}
	if err := gate.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(gate.path); !os.IsNotExist(err) {
		t.Errorf("the gate is still there: %v", err)
	}
}

// The hub must read all that the agent says, or its floor would be too low.
func TestTheHubHearsTheAgent(t *testing.T) {
	var said bytes.Buffer
	asked, err := promptRequests(script{chunks: 3}.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := serveAgent(bytes.NewReader(asked), &said); err != nil {
		t.Fatal(err)
	}
	log := &hubLog{execution: "x"}
	if err := log.hearAgent(&said); err != nil {
		t.Fatal(err)
	}
	delta := `"type":"` + string(domain.MessageDeltaType)
	if all := string(bytes.Join(log.frames, nil)); len(log.frames) != 3 || strings.Count(all, delta) != 3 || strings.Count(all, `"text":"@1`) != 3 {
		t.Errorf("%s", all)
	}
}

func TestTheHubNoticesAnAgentThatIsCutOff(t *testing.T) {
	for said, want := range map[string]string{"": "unexpected EOF", `{"jsonrpc"`: "unexpected EOF", "\n": "unexpected end of JSON input"} {
		if err := new(hubLog).hearAgent(strings.NewReader(said)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", said, err, want)
		}
	}
}

// What nobody is judged by costs the short form its time.
func TestTheShortFormKnowsTheAgentsAndNoIdleFloor(t *testing.T) {
	chosen, err := options{short: true}.choose()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range chosen {
		names = append(names, f.name)
		want := []string{hub, postgres, sqlite}
		if f.name == "waiting" || f.name == "start" { // their goals are in bytes and in milliseconds
			want = want[1:]
		}
		if diff := cmp.Diff(want, f.contenders); diff != "" {
			t.Errorf("%s: %s", f.name, diff)
		}
	}
	if !slices.Contains(names, "acp") {
		t.Errorf("the short form has %v", names)
	}
}
