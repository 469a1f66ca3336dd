package sessions_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// reads is a call of a tool whose server defines it so.
func reads(id, definition string) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: "mcp__files__read", Class: domain.ClassMCP, Arguments: json.RawMessage(`{"path":"/srv/a"}`), Summary: "Read " + definition,
		Action: domain.Action{Server: "files"},
		MCP: &domain.MCPTool{
			Server: "files", Tool: "read", Definition: strings.Repeat(definition, 64), Canonical: domain.Encode(map[string]string{"description": definition}),
			Annotations: domain.MCPAnnotations{ReadOnly: new(true)},
		},
	}
}

// calls are calls one after the other, of a tool that is defined otherwise each time.
func calls(definitions ...string) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for i, definition := range definitions {
			call := reads("c"+string(rune('1'+i)), definition)
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			if _, err := t.Use(call, func(json.RawMessage) string { return "read" }); err != nil {
				return "", err
			}
		}
		return domain.StopEndTurn, ctx.Err()
	}
}

func allowedBy(t *testing.T, log []domain.Event) []string {
	t.Helper()
	var all []string
	for _, started := range payloads[domain.ToolCallStarted](t, log) {
		all = append(all, started.ToolCallID+" "+started.AllowedBy)
	}
	return all
}

// TestAYesPinsATool: the rule that a person leaves covers the tool until its definition changes, and again when somebody has said yes to the change.
func TestAYesPinsATool(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, calls("a", "a", "b", "b", "a"))
		id := w.start()
		asked := w.approvals(id, 1)[0]
		if got := asked.MCP; got == nil || got.Standing != domain.MCPToolNew || got.Tool != "read" || got.Server != "files" || got.Annotations.ReadOnly == nil || got.PinnedHash != "" {
			t.Errorf("a person sees %+v", got)
		}
		w.decide(asked, remember(domain.RememberExecution, "mcpServer"))
		changed := w.approvals(id, 2)[1]
		if got := changed.MCP; changed.AskedBy != string(approvals.ByPin) || got.Standing != domain.MCPToolChanged || got.PinnedHash != asked.Call.MCP.Definition ||
			*got.PinnedBy != alice || len(got.Changes) != 1 || *got.Changes[0].Before != "a" || *got.Changes[0].After != "b" {
			t.Errorf("%s: %s: %+v", changed.AskedBy, changed.Reason, got)
		}
		w.decide(changed)
		back := w.approvals(id, 3)[2] // to the first definition: nobody wants that any more
		w.decide(back, deny("no"))
		w.ended(id)
		log := w.events(id)
		if got, want := allowedBy(t, log), []string{"c1 decision", "c2 rule", "c3 decision", "c4 rule"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if event := payloads[domain.ApprovalRequested](t, log)[1]; event.MCP == nil || event.MCP.Standing != domain.MCPToolChanged || len(event.MCP.Changes) != 1 {
			t.Errorf("the event shows %+v", event.MCP)
		}
		if requested := payloads[domain.ToolCallRequested](t, log)[0]; requested.MCP == nil || requested.MCP.Definition != asked.Call.MCP.Definition {
			t.Errorf("the log has %+v", requested.MCP)
		}

		// What was changed asks whatever the request trusts, and nobody is there to be asked.
		other := newWorld(t, s, calls("a", "b"))
		trusted := other.start(func(r *domain.Request) { r.SafeModeOff, r.Unattended = true, true })
		other.ended(trusted)
		if got := allowedBy(t, other.events(trusted)); !slices.Equal(got, []string{"c2 safeModeOff"}) {
			t.Errorf("%v", got)
		}
		entries, err := s.Audit(t.Context(), tenant, store.AuditFilter{Execution: id})
		if err != nil {
			t.Fatal(err)
		}
		for action, want := range map[string]string{"approval.decided": changed.Call.MCP.Definition, "toolCall.mcp": asked.Call.MCP.Definition} {
			if !slices.ContainsFunc(entries, func(e domain.AuditEntry) bool {
				return e.Action == action && strings.Contains(string(e.Record), `"definition":"`+want+`"`)
			}) {
				t.Errorf("no entry %s names the definition %s", action, want)
			}
		}
	})
}

// TestAYesToAChangeAnswersOpenQuestions: the older rule covers the tool again, also where others wait.
func TestAYesToAChangeAnswersOpenQuestions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, calls("a"))
		id := first.start()
		first.decide(first.approvals(id, 1)[0], remember(domain.RememberGlobal, "tool"))
		first.ended(id)
		first.drain()

		w := newWorld(t, s, calls("b"))
		one, two := w.start(), w.start()
		w.approvals(two, 1)
		w.decide(w.approvals(one, 1)[0])
		w.ended(one)
		w.ended(two)
		if got := allowedBy(t, w.events(two)); !slices.Equal(got, []string{"c1 rule"}) {
			t.Errorf("%v", got)
		}
	})
}

// otherPin reads another pin than the store has, as if somebody had approved another definition just now.
type otherPin struct {
	*store.Store
	after atomic.Pointer[domain.MCPPin]
}

func (o *otherPin) MCPPin(ctx context.Context, of domain.TenantID, server, tool string) (*domain.MCPPin, error) {
	if other := o.after.Load(); other != nil {
		return other, nil
	}
	return o.Store.MCPPin(ctx, of, server, tool)
}

// TestAPinIsComparedBeforeTheStart: somebody approves one definition, and before the call starts somebody else another one.
func TestAPinIsComparedBeforeTheStart(t *testing.T) {
	through := &otherPin{Store: storetest.SQLite(t)}
	w := newWorldThrough(t, through, through.Store, calls("a"))
	id := w.start()
	asked := w.approvals(id, 1)[0]
	through.after.Store(&domain.MCPPin{Server: "files", Tool: "read", Hash: strings.Repeat("b", 64), By: alice})
	w.decide(asked)
	again := w.approvals(id, 2)[1]
	if again.AskedBy != string(approvals.ByPin) || len(allowedBy(t, w.events(id))) > 0 {
		t.Errorf("%s asks: %s", again.AskedBy, again.Reason)
	}
	through.after.Store(nil)
	w.decide(again)
	w.ended(id)
	if got := allowedBy(t, w.events(id)); !slices.Equal(got, []string{"c1 decision"}) {
		t.Errorf("%v", got)
	}
}

// resumed is one call, of an agent that goes on with it in its next process. The server defines the tool as at says by then.
func resumed(at *atomic.Value, ran *atomic.Int32) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := reads("c1", at.Load().(string))
		if history := t.Prompt.History; history[len(history)-1].Role == domain.RoleUser {
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
		}
		_, err := t.Use(call, func(json.RawMessage) string { ran.Add(1); return "read" })
		return domain.StopEndTurn, err
	}
}

// sinceYesterday moves rules, and the first yes to each tool, one day back: neither was made after a question of today.
type sinceYesterday struct{ *store.Store }

func (o sinceYesterday) MCPPin(ctx context.Context, of domain.TenantID, server, tool string) (*domain.MCPPin, error) {
	pin, err := o.Store.MCPPin(ctx, of, server, tool)
	if pin != nil {
		pin.First = pin.First.Add(-24 * time.Hour)
	}
	return pin, err
}

func (o sinceYesterday) Rules(ctx context.Context, of domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error) {
	rules, err := o.Store.Rules(ctx, of, id)
	for i := range rules {
		rules[i].Created = rules[i].Created.Add(-24 * time.Hour)
	}
	return rules, err
}

// TestAYesToAChangeWakesWhatIsParked: an execution without a driver is driven again, because an older rule covers its call now. Only the pin
// is younger than the question.
func TestAYesToAChangeWakesWhatIsParked(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, calls("a"))
	id := first.start()
	first.decide(first.approvals(id, 1)[0], remember(domain.RememberGlobal, "tool"))
	first.ended(id)
	first.drain()

	var at atomic.Value
	var ran atomic.Int32
	at.Store("b")
	w := newWorldThrough(t, sinceYesterday{s}, s, resumed(&at, &ran), parks)
	one, two := w.start(), w.start()
	asked := w.approvals(one, 1)[0]
	w.approvals(two, 1)
	w.parked(one)
	w.parked(two)
	w.decide(asked)
	w.ended(one)
	w.ended(two)
	if got := allowedBy(t, w.events(two)); !slices.Equal(got, []string{"c1 rule"}) || ran.Load() != 2 {
		t.Errorf("%v, %d runs", got, ran.Load())
	}
}

// TestTheDefinitionChangesWhileAPersonDecides: the process that asked is gone, and the next one has another server.
func TestTheDefinitionChangesWhileAPersonDecides(t *testing.T) {
	for name, decided := range map[string]bool{"before the next driver": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			var at atomic.Value
			var ran atomic.Int32
			at.Store("a")
			first := newWorld(t, s, resumed(&at, &ran))
			id := first.start()
			asked := first.approvals(id, 1)[0]
			first.killed()
			at.Store("b")
			second := newWorld(t, s, resumed(&at, &ran))
			if decided {
				second.decide(asked)
			}
			all := second.approvals(id, 2)
			if first, again := all[0], all[1]; again.Call.MCP.Definition != reads("", "b").MCP.Definition || again.Status != domain.ApprovalPending || ran.Load() > 0 ||
				!decided && first.Status != domain.ApprovalCancelled {
				t.Fatalf("%s, then %s about %+v", first.Status, again.Status, again.MCP)
			}
			second.decide(all[1])
			second.ended(id)
			if ran.Load() != 1 {
				t.Errorf("it ran %d times", ran.Load())
			}
		})
	}
}

// TestADefinitionIsShownWithoutSecrets: a server may tell what it was given.
func TestADefinitionIsShownWithoutSecrets(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), calls("12345678"), func(c *dispatch.Config) { c.Masker = secrets.NewMasker("12345678") })
	id := w.start()
	asked := w.approvals(id, 1)[0]
	if shown := string(asked.Call.MCP.Canonical); strings.Contains(shown, "12345678") || shown == "" {
		t.Errorf("the approval keeps %s", shown)
	}
	w.decide(asked)
	w.ended(id)
	pin, err := w.store.MCPPin(t.Context(), tenant, "files", "read")
	if err != nil || pin == nil || strings.Contains(string(pin.Definition), "12345678") || pin.Hash != asked.Call.MCP.Definition {
		t.Errorf("%+v, %v", pin, err)
	}
}
