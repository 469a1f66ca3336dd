package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmeWorks runs the commands of the README's page as a newcomer does, against the first start of a server in an empty folder.
func TestTheReadmeWorks(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "SIGNOFF_ADDR=127.0.0.1:0"}
	must(t, os.RemoveAll(s.data()))
	must(t, os.Remove(filepath.Join(s.home, "signoff.yaml")))
	s.start()

	calls := readmeCommands(t, "## Three calls")
	if len(calls) != 5 {
		t.Fatalf("the three calls are %d commands: %q", len(calls), calls)
	}
	// The README's address is the default one, and the server of this test has another.
	prelude := strings.Replace(calls[0], "http://127.0.0.1:8080", s.Base, 1)
	if prelude == calls[0] {
		t.Fatalf("the README does not name the default address: %s", calls[0])
	}
	create, follow, show, decide := calls[1], calls[2], calls[3], calls[4]

	var created execution
	s.shell(prelude+"\n"+create, &created)
	a := s.asked(created.ID, 1)[0]
	var inbox list[approval]
	s.shell(prelude+"\n"+show, &inbox)
	if len(inbox.Items) != 1 || inbox.Items[0].ID != a.ID {
		t.Fatalf("the inbox has %+v, want %s", inbox, a.ID)
	}
	var decided approval
	s.shell(prelude+"\n"+strings.Replace(decide, "APPROVAL_ID", a.ID, 1), &decided)
	if decided.Status != "approved" {
		t.Errorf("decided: %+v", decided)
	}
	stream := s.shell(prelude+"\n"+strings.Replace(follow, "EXECUTION_ID", created.ID, 1), nil)
	if !strings.Contains(stream, "event: approval.requested\n") || !strings.Contains(stream, "event: execution.completed\n") {
		t.Errorf("the stream has no approval, or no end:\n%s", stream)
	}

	for _, command := range readmeCommands(t, "## What an agent may do") {
		var created execution
		s.shell(prelude+"\n"+command, &created)
		if want[execution](s.client, http.StatusOK, "GET", "/executions/"+created.ID, nil).ID != created.ID {
			t.Errorf("no execution came of %s", command)
		}
		s.asked(created.ID, 1)
		s.cancelled(created.ID, object{})
	}
}

// readmeCommands are the commands of the shell blocks in one section of the README, one string each.
func readmeCommands(t *testing.T, heading string) (commands []string) {
	t.Helper()
	for _, e := range examples(t, "README.md") {
		if e.heading == heading && e.language == "sh" {
			commands = append(commands, commandsOf(t, e.text)...)
		}
	}
	return commands
}

// shell runs a command in the folder of the server, and reads its output as JSON unless into is nil.
func (s *server) shell(command string, into any) (stdout string) {
	s.t.Helper()
	var out, errOut bytes.Buffer
	run := exec.CommandContext(s.t.Context(), "bash", "-c", "set -e\n"+command)
	run.Dir, run.Stdout, run.Stderr = s.home, &out, &errOut
	run.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home}
	if err := run.Run(); err != nil {
		s.t.Fatalf("%s\n%v: %s", command, err, errOut.String())
	}
	if into == nil {
		return out.String()
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		s.t.Fatalf("%s\nprints no JSON (%v): %s", command, err, out.String())
	}
	return out.String()
}
