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

func TestDeny(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("touch never.txt")))
		id := s.create().ID
		s.decide(s.asked(id, 1)[0], object{"decision": "deny", "reason": "not on a Friday"})
		if end := s.ended(id); end.Status != "completed" || !strings.Contains(end.Output.Text, "not on a Friday") {
			t.Errorf("ended: %+v", end.Output)
		}
		if _, err := os.Stat(filepath.Join(s.workspace, "never.txt")); err == nil {
			t.Error("the denied command ran")
		}
		s.sound(id)
	})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("touch asked.txt")))
		id := s.create().ID
		a := s.asked(id, 1)[0]
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID,
			object{"decision": "approve", "argumentsHash": a.ArgumentsHash, "arguments": object{"command": 7}})
		s.decide(a, object{"arguments": object{"command": "touch edited.txt"}})
		s.ended(id)
		if _, err := os.Stat(filepath.Join(s.workspace, "edited.txt")); err != nil {
			t.Error("the edited command did not run")
		}
		if _, err := os.Stat(filepath.Join(s.workspace, "asked.txt")); err == nil {
			t.Error("the command that was replaced ran")
		}
		s.sound(id)
	})
}

func TestExpire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("touch never.txt")))
		id := s.create(object{"approvalTimeoutSeconds": 1}).ID
		if end := s.ended(id); end.Status != "completed" {
			t.Errorf("ended: %+v", end)
		}
		a := s.asked(id, 0)[0] // and not before: who looks late finds it expired
		s.refused(http.StatusGone, "approvalExpired", "POST", "/approvals/"+a.ID, object{"decision": "approve", "argumentsHash": a.ArgumentsHash})
		log := s.sound(id)
		if r := of[domain.ApprovalResolved](t, log); len(r) != 1 || r[0].Status != domain.ApprovalExpired || r[0].DecidedBy != nil {
			t.Errorf("resolved: %+v", r)
		}
	})
}

func TestRemember(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			switch n := count(conversation, "tool"); n {
			case 0, 1:
				a.Bash("echo same")
			case 2:
				a.Bash("echo other")
			default:
				a.Say("done")
			}
		}))
		id := s.create().ID
		s.decide(s.asked(id, 1)[0], object{"remember": "execution"})
		other := s.asked(id, 1)
		if len(other) != 2 {
			t.Fatalf("%d approvals: the remembered command was asked for again", len(other))
		}
		s.decide(other[1])
		s.ended(id)
		if started := of[domain.ToolCallStarted](t, s.sound(id)); len(started) != 3 || started[1].AllowedBy != "rule" {
			t.Errorf("started: %+v", started)
		}
	})
}

func count(conversation []message, role string) (n int) {
	for _, m := range conversation {
		if m.Role == role {
			n++
		}
	}
	return n
}

func TestParallelCallsAndRead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			if last(conversation).Role == "tool" {
				for _, m := range conversation {
					if m.Role == "tool" {
						a.Say(m.Content, "|")
					}
				}
				return
			}
			a.Bash("echo one")
			a.Want("read", object{"path": "note.txt"})
			a.Bash("echo two")
			a.Want("read", object{"path": "../outside.txt"})
			a.Want("no_such_tool", object{})
			a.Want("bash", object{"cmd": "broken"})
		}))
		must(t, os.WriteFile(filepath.Join(s.workspace, "note.txt"), []byte("a note"), 0o600))
		must(t, os.WriteFile(filepath.Join(s.home, "outside.txt"), []byte("a secret"), 0o600))
		id := s.create().ID
		all := s.asked(id, 2)
		s.decide(all[1])
		s.decide(all[0])
		end := s.ended(id)
		for _, expected := range []string{"one", "two", "a note", "outside"} {
			if !strings.Contains(end.Output.Text, expected) {
				t.Errorf("the model was not told %q: %s", expected, end.Output.Text)
			}
		}
		if strings.Contains(end.Output.Text, "a secret") {
			t.Error("a file outside of the workspace was read")
		}
		log := s.sound(id)
		codes := map[domain.Code]int{}
		for _, c := range of[domain.ToolCallCompleted](t, log) {
			if c.Error != nil {
				codes[c.Error.Code]++
			}
		}
		if codes[domain.CodeUnknownTool] != 1 || codes[domain.CodeInvalidArguments] != 1 || codes[domain.CodePathOutsideWorkspace] != 1 {
			t.Errorf("codes: %v", codes)
		}
	})
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
			for _, fate := range of[domain.ToolCallCompleted](t, log) {
				if fate.Fate != domain.FateSucceeded {
					t.Errorf("fate: %+v", fate)
				}
			}
			if usage := of[domain.UsageUpdated](t, log); len(usage) != 2 || *usage[1].Usage.InputTokens != 900 {
				t.Errorf("usage: %+v", usage)
			}
		})
	}
}
