package sessions_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
)

// Where a secret could come out: cut in half, beside the log, or inside a text that must not be changed.

// half is more of the secret than anybody may see. A masker does not find it any more, so it has to look before the cut.
var half = canary[:len(canary)/2]

// hides fails if people can read the secret, or a good part of it.
func hides(t *testing.T, what string, shown any) {
	t.Helper()
	if text := string(domain.Encode(shown)); strings.Contains(text, half) {
		t.Errorf("%s: %s", what, text)
	}
}

func (w *world) hidesAll(t *testing.T, id domain.ExecutionID) {
	t.Helper()
	for _, event := range w.events(id) {
		hides(t, string(event.Type), event.Data)
	}
	for _, record := range w.records(id) {
		hides(t, record.Action, record)
	}
}

// cutAt puts the secret where a text is cut after so many bytes, all but its last byte before the cut.
func cutAt(length int) string {
	return strings.Repeat("x", length-len(canary)+1) + canary + strings.Repeat("y", length)
}

// abroadMasked is a world with an external agent, and secrets.
func abroadMasked(t *testing.T, script sessionstest.Script) *world {
	t.Helper()
	external := &sessionstest.External{Script: script, Opened: make(chan domain.Opening, 20)}
	return newWorld(t, storetest.SQLite(t), nil, externally(external), masking)
}

func TestNoHalfOfASecretIsOnRecord(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		_ = t.Want("m1", call)
		_, err := t.Use(call, func(json.RawMessage) string { return cutAt(300) })
		return domain.StopEndTurn, err
	}, masking)
	id := w.start(func(r *domain.Request) { r.SafeModeOff = true })
	w.ended(id)
	if record := w.recordOf(id, "c1"); !strings.HasSuffix(record.Summary, " …") {
		t.Errorf("it was not cut: %q", record.Summary)
	}
	w.hidesAll(t, id)
}

// A reason quotes the beginning of a command.
func TestNoHalfOfASecretIsInAReason(t *testing.T) {
	w := abroadMasked(t, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_, err := t.Host.Ask(ctx, domain.Question{
			Kind: domain.ApprovalAgentPermission, Call: sessionstest.Bash("c1", cutAt(100)), Options: json.RawMessage(options),
		})
		return domain.StopEndTurn, err
	})
	id := w.start(outside, func(r *domain.Request) {
		r.Tools.BashPolicy = &domain.BashPolicy{DefaultBehavior: domain.Deny, DenyBehavior: domain.DenyBlock}
	})
	w.ended(id)
	if record := w.recordOf(id, "c1"); record.DecidedBy != string(approvals.ByBashPolicy) || !strings.Contains(record.Reason, "holds a secret") {
		t.Errorf("%s: %q", record.DecidedBy, record.Reason)
	}
	w.hidesAll(t, id)
}

// TestWhatStandsBesideTheLogHoldsNoSecret: the row of a question, what it offers to remember, the record of the decision
// and the rule that it leaves, the debug feed, the notes.
func TestWhatStandsBesideTheLogHoldsNoSecret(t *testing.T) {
	w := abroadMasked(t, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		t.Host.Trace(domain.FromAgent, []byte(`{"key":"`+canary+`"}`))
		t.Host.Trace(domain.FromAgent, []byte(cutAt(64<<10)))
		if _, err := t.Host.SaveMemory(ctx, domain.GlobalMemory, 0, "The key is "+canary); err != nil {
			return "", err
		}
		_, err := t.Host.Ask(ctx, domain.Question{
			Kind: domain.ApprovalAgentPermission, Call: sessionstest.Bash("c1", "git log "+canary),
			Options: json.RawMessage(`[{"optionId":"yes","name":"Print ` + canary + `","kind":"allow_once"}]`),
		})
		return domain.StopEndTurn, err
	})
	id := w.start(outside, func(r *domain.Request) { r.Debug, r.Memory = true, true })
	approval := w.approvals(id, 1)[0]
	hides(t, "approval", approval)
	if n := len(approval.RememberOptions); n != 1 || approval.RememberOptions[0].PreviewID != approvals.PreviewExact {
		t.Errorf("a rule would be about another command than was asked about: %+v", approval.RememberOptions)
	}
	w.decide(approval, remember(domain.RememberExecution, approvals.PreviewExact))
	w.ended(id)
	w.hidesAll(t, id)
	rows, err := w.store.ApprovalsOf(t.Context(), id)
	hides(t, "approvals", rows)
	notes, notesErr := w.store.Memory(t.Context(), tenant, domain.GlobalMemory)
	hides(t, "notes", notes)
	feed, feedErr := w.store.DebugPage(t.Context(), id, 0, 10, 1<<20)
	hides(t, "debug feed", feed)
	if joined(err, notesErr, feedErr) != nil || len(feed) != 2 || notes.Content != "The key is [masked]" {
		t.Errorf("%d messages, %q, %v", len(feed), notes.Content, joined(err, notesErr, feedErr))
	}
}

// A rule with a masked pattern would be another rule.
func TestARequestWhosePolicyHoldsASecretIsRefused(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), echo, masking)
	for name, change := range map[string]func(*domain.Request){
		"a rule of the bash policy": func(r *domain.Request) {
			r.Tools.BashPolicy = &domain.BashPolicy{DefaultBehavior: domain.Allow, DenyBehavior: domain.DenyBlock, Rules: []domain.BashRule{
				{Name: "no", Pattern: "^cat " + canary, Action: domain.Deny},
			}}
		},
		"a permission rule": func(r *domain.Request) {
			r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: domain.Matcher{Command: "login " + canary}}}
		},
		"the folder": func(r *domain.Request) { r.WorkingDirectory = "/work/" + canary },
	} {
		_, _, err := w.manager.Start(t.Context(), tenant, alice, request(change), nil)
		if domain.CodeOf(err) != domain.CodeSecretExposed || strings.Contains(err.Error(), half) {
			t.Errorf("%s: %v", name, err)
		}
	}
	texts := w.start(func(r *domain.Request) {
		r.Prompt, r.Instructions, r.SystemPrompt = "use "+canary, canary, canary
		r.Messages = []domain.InputMessage{{Role: domain.RoleUser, Content: canary}}
	})
	hides(t, "what was stored", w.ended(texts).Request)
}

// TestANumberThatIsASecretStaysANumber: a reader that expects a count of tokens must not find a word.
func TestANumberThatIsASecretStaysANumber(t *testing.T) {
	const digits = 12345678
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(digits, 1)})
		return domain.StopEndTurn, t.Say("m1", "It is 12345678.")
	}, func(c *dispatch.Config) { c.Masker = secrets.NewMasker("12345678") })
	id := w.start()
	if end := w.ended(id); end.Status != domain.StatusCompleted || end.Output.Text != "It is [masked]." || *end.Usage.InputTokens != digits {
		t.Errorf("%s, %+v, %+v", end.Status, end.Output, end.Usage)
	}
	if used := payloads[domain.UsageUpdated](t, w.events(id)); len(used) != 1 || *used[0].Usage.InputTokens != digits {
		t.Errorf("%+v", used)
	}
}

// TestAStateWithASecretIsDropped: changed, its provider would refuse it; as it is, it would be in the database.
func TestAStateWithASecretIsDropped(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for id, state := range map[string]string{"clean": `{"signature":"abc"}`, "exposed": `{"thinking":"` + canary + `","signature":"abc"}`} {
			_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: id, Text: "Hm."})
			_ = t.Host.EmitAnswer(ctx, domain.AnswerState{MessageID: id, State: []byte(state)}, domain.MessageCompleted{MessageID: id})
		}
		return domain.StopEndTurn, ctx.Err()
	}, masking)
	id := w.start()
	w.ended(id)
	kept, err := w.store.AnswerStates(t.Context(), id)
	if err != nil || len(kept) != 1 || kept[0].MessageID != "clean" || string(kept[0].State) != `{"signature":"abc"}` {
		t.Errorf("%s, %v", kept, err)
	}
	if said := payloads[domain.MessageCompleted](t, w.events(id)); len(said) != 2 {
		t.Errorf("%+v", said)
	}
}
