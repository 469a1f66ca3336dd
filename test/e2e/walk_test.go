package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/test/harness"
)

func TestStreamThinkApprove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo from the sandbox > made.txt; cat made.txt")))
		id := s.create().ID
		a := s.asked(id, 1)[0]
		if s.get(id).Status != string(domain.StatusPendingToolApproval) || len(s.get(id).PendingApprovals) != 1 {
			t.Errorf("while it waits: %+v", s.get(id))
		}
		if _, err := os.Stat(filepath.Join(s.workspace, "made.txt")); err == nil {
			t.Error("the command ran before anybody decided")
		}
		if inbox := want[list[approval]](s.client, http.StatusOK, "GET", "/approvals", nil); len(inbox.Items) != 1 || inbox.Items[0].ID != a.ID {
			t.Errorf("inbox: %+v", inbox)
		}
		decided := s.decide(a)
		if decided.Status != "approved" || decided.Decision.DecidedBy.Name == "" {
			t.Errorf("decided: %+v", decided)
		}
		end := s.ended(id)
		if end.Status != "completed" || !strings.Contains(end.Output.Text, "from the sandbox") || end.Output.FinishReason != "endTurn" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		if content, err := os.ReadFile(filepath.Join(s.workspace, "made.txt")); err != nil || string(content) != "from the sandbox\n" {
			t.Errorf("the workspace has %q, %v", content, err)
		}
		log := s.sound(id)
		thought, text := "", ""
		for _, p := range of[domain.ThoughtDelta](t, log) {
			thought += p.Text
		}
		for _, p := range of[domain.MessageDelta](t, log) {
			text += p.Text
		}
		if thought != "I should look." || !strings.HasPrefix(text, "Let me look.told: from the sandbox") {
			t.Errorf("thought %q, text %q", thought, text)
		}
		if live := s.read(id); !equal(live, log) {
			t.Error("the stream and the page differ")
		}
	})
}

func equal(a, b []wireEvent) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Raw != b[i].Raw {
			return false
		}
	}
	return true
}

func count(conversation []message, role string) (n int) {
	for _, m := range conversation {
		if m.Role == role {
			n++
		}
	}
	return n
}

// mock is a model server that others have written.
type mock string

func (m mock) url() string { return string(m) + "/v1" }

// TestRealInput: text, reasoning and parallel tool calls from a server that knows nothing of us.
func TestRealInput(t *testing.T) {
	t.Parallel()
	aimock, err := harness.StartAimock(t.Context(), "", harness.AimockFixtures(), "--chunk-size", "7", "--strict")
	must(t, err)
	t.Cleanup(func() { must(t, aimock.Stop()) })
	for name, e := range map[string]engine{"SQLite": {}, "Postgres": {url: postgres(t)}} {
		t.Run(name, func(t *testing.T) {
			s := up(t, e, mock(aimock.Base))
			must(t, os.WriteFile(filepath.Join(s.workspace, "notes.txt"), []byte("ok\n"), 0o600))
			id := s.create(object{"prompt": "Please check both hosts."}).ID
			s.decide(s.asked(id, 1)[0])
			end := s.ended(id)
			if end.Status != "completed" || !strings.Contains(end.Output.Text, "the notes say “ok” 👍") {
				t.Errorf("ended: %+v %+v", end, end.Output)
			}
			log := s.sound(id)
			thought := ""
			for _, p := range of[domain.ThoughtDelta](t, log) {
				thought += p.Text
			}
			calls := of[domain.ToolCallRequested](t, log)
			if thought != "Two hosts, two independent checks. I can ask for both at once." || len(calls) != 2 || calls[0].MessageID != calls[1].MessageID {
				t.Errorf("thought %q, calls %+v", thought, calls)
			}
			for _, outcome := range of[domain.ToolCallCompleted](t, log) {
				if outcome.Outcome != domain.OutcomeSucceeded {
					t.Errorf("outcome: %+v", outcome)
				}
			}
			if usage := of[domain.UsageUpdated](t, log); len(usage) != 2 || *usage[1].Usage.InputTokens != 900 {
				t.Errorf("usage: %+v", usage)
			}
		})
	}
}
