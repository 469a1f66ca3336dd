package sessions_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// Bounds that hold also for an agent that does not play along, and judgements that do not depend on how a thing is called.

// ——— budgets ———

// TestABudgetOfCallsHoldsWithoutAnnouncements: some agents ask about a call that they have not announced.
func TestABudgetOfCallsHoldsWithoutAnnouncements(t *testing.T) {
	var allowed atomic.Int32
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for _, id := range []string{"c1", "c2", "c3"} {
			if answer, err := t.Ask(ctx, id, options); err == nil && answer.Status == domain.ApprovalApproved {
				allowed.Add(1)
			}
		}
		return waits(ctx, t)
	})
	id := w.start(outside, func(r *domain.Request) { r.Budget.ToolCalls, r.SafeModeOff = 1, true })
	if end := w.ended(id); end.Status != domain.StatusFailed || end.Output.Error.Code != domain.CodeLimitReached {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
	if n := allowed.Load(); n != 1 {
		t.Errorf("%d calls were allowed by a budget of one", n)
	}
}

// TestUsageNeverGoesDown: it is a sum, and an agent that tells less than before has given nothing back.
func TestUsageNeverGoesDown(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for _, usage := range []domain.Usage{tokens(-5, 0), tokens(90, 0), tokens(1, 0), {}, tokens(-5, 0)} {
			_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: usage})
		}
		return domain.StopEndTurn, ctx.Err()
	})
	id := w.start(func(r *domain.Request) { r.Budget.Tokens = 100 })
	end := w.ended(id)
	if used := end.Usage.Tokens(); end.Status != domain.StatusCompleted || used == nil || *used != 90 {
		t.Errorf("%s, used %+v", end.Status, domain.Encode(end.Usage))
	}
	for i, updated := range payloads[domain.UsageUpdated](t, w.events(id)) {
		if used := updated.Usage.Tokens(); i > 0 && (used == nil || *used != 90) {
			t.Errorf("update %d tells %s", i+1, domain.Encode(updated.Usage))
		}
	}
}

// TestAnAgentThatTellsNoUsage cannot be kept within a budget of tokens or of money: it does no further step.
func TestAnAgentThatTellsNoUsage(t *testing.T) {
	for name, test := range map[string]struct {
		script sessionstest.Script
		budget domain.Budget
	}{
		"no call for tokens":   {uses("a", "b"), domain.Budget{Tokens: 1}},
		"no call for money":    {uses("a", "b"), domain.Budget{Cost: 0.01}},
		"no turn after a turn": {echo, domain.Budget{Tokens: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), test.script)
			id := w.start(keepOpen, func(r *domain.Request) { r.Budget, r.SafeModeOff = test.budget, true })
			end := w.ended(id)
			if end.Status != domain.StatusFailed || end.Output.FinishReason != domain.FinishBudget || end.Output.Error.Code != domain.CodeLimitReached {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
			if started := payloads[domain.ToolCallStarted](t, w.events(id)); len(started) > 0 {
				t.Errorf("started: %+v", started)
			}
		})
	}
}

// ——— links ———

// writes is one call that writes a file.
func writes(path string) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := domain.ToolCall{
			ID: "c1", Tool: "write", Version: "1", Class: domain.ClassWrite, Arguments: json.RawMessage(`{"path":"x"}`),
			Summary: "Run write", Action: domain.Action{Paths: []string{path}},
		}
		_ = t.Want("m1", call)
		_, err := t.Use(call, func(json.RawMessage) string { return "written" })
		return domain.StopEndTurn, err
	}
}

// TestALinkIsJudgedByWhereItLeads: a rule about a folder is about the files in it, by whatever name.
func TestALinkIsJudgedByWhereItLeads(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if joined(err, os.Mkdir(filepath.Join(dir, "src"), 0o755), os.Mkdir(filepath.Join(dir, "docs"), 0o755),
		os.Symlink("../src", filepath.Join(dir, "docs", "way"))) != nil {
		t.Fatal("cannot make the folders")
	}
	start := func(w *world, rules ...domain.RequestRule) domain.ExecutionID {
		return w.start(func(r *domain.Request) { r.WorkingDirectory, r.Rules = dir, rules })
	}
	inDocs := domain.RequestRule{Effect: domain.Allow, Matcher: domain.Matcher{Tool: "write", Path: dir + "/docs/**"}}
	inSrc := domain.Matcher{Path: dir + "/src/**"}
	w := newWorld(t, storetest.SQLite(t), writes(filepath.Join(dir, "docs", "way", "new", "x")))

	denied := start(w, inDocs, domain.RequestRule{Effect: domain.Deny, Matcher: inSrc})
	w.ended(denied)
	if got := outcomes(t, w.events(denied))["write"]; got != domain.OutcomeDenied {
		t.Errorf("src is denied, and by the other name it %s", got)
	}
	asked := start(w, inDocs)
	w.decide(w.approvals(asked, 1)[0], deny("It leads out of docs."))
	w.ended(asked)
	allowed := start(w, domain.RequestRule{Effect: domain.Allow, Matcher: domain.Matcher{Path: dir + "/**"}})
	w.ended(allowed)
	if got := outcomes(t, w.events(allowed))["write"]; got != domain.OutcomeSucceeded {
		t.Errorf("name and target are allowed, and it %s", got)
	}
}

// ——— rules ———

// blind is a store whose rules cannot be read for a while.
type blind struct {
	*store.Store
	open  atomic.Bool
	tried chan struct{} // closes with the first try
	once  sync.Once
}

func blinded(t *testing.T) *blind {
	return &blind{Store: storetest.SQLite(t), tried: make(chan struct{})}
}

func (b *blind) Rules(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error) {
	b.once.Do(func() { close(b.tried) })
	if !b.open.Load() {
		return nil, domain.Errorf(domain.CodeStorage, "The rules cannot be read.")
	}
	return b.Store.Rules(ctx, tenant, id)
}

// TestRulesThatCannotBeRead hold up the call that they are about, and nothing else.
func TestRulesThatCannotBeRead(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		b := blinded(t)
		w := newWorldThrough(t, b, b.Store, uses("date"))
		id := w.start()
		<-b.tried
		if end := w.cancel(id); end.Status != domain.StatusCancelled {
			t.Errorf("%s", end.Status)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		b := blinded(t)
		w := newWorldThrough(t, b, b.Store, uses("date"))
		if end := w.ended(w.start(func(r *domain.Request) { r.TimeoutSeconds = 1 })); end.Status != domain.StatusTimedOut {
			t.Errorf("%s", end.Status)
		}
	})
	t.Run("read again", func(t *testing.T) {
		b := blinded(t)
		w := newWorldThrough(t, b, b.Store, uses("date", "pwd"))
		id := w.start()
		<-b.tried
		w.rule(domain.Allow, domain.Matcher{Command: "pwd"})
		b.open.Store(true)
		w.decide(approvalFor(t, w.approvals(id, 1), "date"))
		w.ended(id)
		if got := outcomes(t, w.events(id)); got["date"] != domain.OutcomeSucceeded || got["pwd"] != domain.OutcomeSucceeded {
			t.Errorf("%v", got)
		}
	})
}

// TestARuleOfTheRequestIsNobodys: a question that was asked by a rule of a person, since revoked, is not answered in the
// name of anybody.
func TestARuleOfTheRequestIsNobodys(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), uses("git log -1", "date"))
	ask := w.rule(domain.Ask, domain.Matcher{Command: "git log *"})
	id := w.start(func(r *domain.Request) {
		r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: domain.Matcher{Command: "git log *"}}}
	})
	open := w.approvals(id, 2)
	if _, err := w.service.RevokeRule(t.Context(), tenant, ask.ID, alice, audit.ByAPI); err != nil {
		t.Fatal(err)
	}
	w.decide(approvalFor(t, open, "date"))
	w.until(id, domain.ToolCallCompletedType)
	w.decide(approvalFor(t, open, "git log -1"), deny("no"))
	w.ended(id)
}

// ——— the record ———

// TestTheRecordTellsWhatRan, and not the agent's arguments, if the decider wrote others.
func TestTheRecordTellsWhatRan(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), uses("rm -f build/cache"))
	id := w.start()
	w.decide(w.approvals(id, 1)[0], func(a *approvals.Answer) { a.Arguments = json.RawMessage(`{"command":"rm -f build/log"}`) })
	w.ended(id)
	record := w.recordOf(id, "c1")
	if details := string(record.Details); !strings.Contains(details, "build/log") || strings.Contains(details, "build/cache") {
		t.Errorf("%s", details)
	}
}
