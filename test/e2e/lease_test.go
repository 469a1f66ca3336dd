package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"signoff/internal/domain"
)

// TestToolsOfTwoOwnersNeverOverlap stops a server while its command writes. It cannot kill anything then, and yet its
// command must be dead before the next owner runs its own.
func TestToolsOfTwoOwnersNeverOverlap(t *testing.T) {
	t.Parallel()
	const writing = "for i in $(seq %d); do echo %s >> ledger.txt; sleep 0.02; done"
	m := newModel(t, func(a *answer, conversation []message) {
		switch {
		case last(conversation).Role != "tool":
			a.Bash(fmt.Sprintf(writing, 100_000, "first"))
		case !strings.Contains(fmt.Sprint(conversation), "second"):
			a.Bash(fmt.Sprintf(writing, 50, "second"))
		default:
			a.Say("done")
		}
	})
	e := engine{url: postgres(t)}
	first := up(t, e, m, shortLease)
	second := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	second.Token = first.Token
	second.start()

	id := first.create().ID
	first.decide(first.asked(id, 1)[0])
	first.eventually("lines of the first owner", func() bool { return strings.Count(first.written(), "first") > 10 })
	must(t, first.process.Signal(syscall.SIGSTOP))
	second.eventually("the end of it", func() bool {
		second.approveAll(id)
		return domain.Status(second.get(id).Status).Terminal()
	})
	before := first.written()
	must(t, first.process.Signal(syscall.SIGCONT))
	first.eventually("an answer of the stopped server", func() bool {
		response, err := first.try(context.Background(), "GET", "/executions/"+id, nil)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})

	if of := strings.TrimLeft(strings.ReplaceAll(before, "first", "1"), "1\n"); of != strings.Repeat("second\n", 50) {
		t.Errorf("the commands overlap, or one did not run:\n%s", before)
	}
	if after := first.written(); after != before {
		t.Errorf("written after the first owner went on:\n%s", after[len(before):])
	}
	second.sound(id)
}

// written is the ledger as it is now.
func (s *server) written() string {
	text, _ := os.ReadFile(filepath.Join(s.workspace, "ledger.txt")) // not there yet: nothing
	return string(text)
}

// approveAll is a person who says yes to everything, and of what nobody knows, that it has failed.
func (s *server) approveAll(id string) {
	s.t.Helper()
	for _, a := range want[list[approval]](s.client, http.StatusOK, "GET", "/executions/"+id+"/approvals", nil).Items {
		switch {
		case a.Status != "pending":
		case a.Kind == "unknownOutcome":
			s.decide(a, object{"resolution": "failed"})
		default:
			s.decide(a)
		}
	}
}
