package sessions_test

import (
	"context"
	"sync/atomic"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// operators is a catalog whose environments may work in /work.
type operators map[string]domain.Environment

func (o operators) Choose(choice domain.EnvironmentChoice) (domain.Environment, error) {
	e, known := o[choice.Name]
	if !known {
		return e, domain.Invalid("/environment", "There is no environment %q.", choice.Name)
	}
	e.Whole = e.Digest()
	return e, nil
}

func (operators) Directories(domain.EnvironmentChoice) []string { return []string{"/work"} }

// defined has the three kinds of environments, with some changes.
func defined(change ...func(operators)) operators {
	catalog := operators{
		"workspace": {Name: "workspace", View: domain.ViewWorkspace},
		"machine":   {Name: "machine", View: domain.ViewMachine},
		"host":      {Name: "host", View: domain.ViewHost, User: "operator"},
	}
	for _, c := range change {
		c(catalog)
	}
	return catalog
}

func hidesMore(catalog operators) {
	machine := catalog["machine"]
	machine.Hidden = []string{"/etc/app"}
	catalog["machine"] = machine
}

func knowing(catalog operators) func(*dispatch.Config) {
	return func(c *dispatch.Config) { c.Environments = catalog }
}

func (o operators) chosen(name string) func(*domain.Request) {
	e := o[name]
	return func(r *domain.Request) {
		r.Environment = domain.EnvironmentChoice{Name: name, Digest: e.Digest()}
	}
}

// TestTheSameCommandInThreeEnvironments: each environment has a card, a hash and an audit record of its own, and what is remembered in one does not
// fire in the others, nor after its definition has changed.
func TestTheSameCommandInThreeEnvironments(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		catalog := defined()
		w := newWorld(t, s, uses("git log -1"), knowing(catalog))
		shown := map[string]domain.Approval{}
		for name := range catalog {
			id := w.start(catalog.chosen(name))
			card := w.approvals(id, 1)[0]
			shown[card.ArgumentsHash] = card
			e := card.Environment
			defined := catalog[name]
			if e == nil || e.Name != name || e.Digest != defined.Digest() || e.Risk != defined.Risk() {
				t.Errorf("%s is shown as %+v", name, e)
			}
			if only := len(card.RememberOptions) == 1; only != (name == "host") {
				t.Errorf("%s offers %+v", name, card.RememberOptions)
			}
			w.decide(card)
			w.ended(id)
			recorded := map[string]bool{}
			for _, record := range auditOf(t, s, id) {
				if record.Environment != nil && record.Environment.Same(e.Stamp()) && (record.ArgumentsHash == card.ArgumentsHash || record.ArgumentsHash == "") {
					recorded[record.Action] = true
				}
			}
			for _, action := range []string{"execution.created", "approval.decided", "toolCall.execute"} {
				if !recorded[action] {
					t.Errorf("%s has no record %s with its environment", name, action)
				}
			}
		}
		if len(shown) != len(catalog) {
			t.Errorf("%d hashes of %d environments", len(shown), len(catalog))
		}
		previews := map[string]string{"workspace": "command", "machine": "command", "host": "exact"}
		var remembered []string
		for _, name := range []string{"host", "machine", "workspace"} {
			id := w.start(catalog.chosen(name)) // still asks, whatever was remembered elsewhere
			w.decide(w.approvals(id, 1)[0], remember(domain.RememberGlobal, previews[name]))
			w.ended(id)
			remembered = append(remembered, name)
			for _, name := range remembered {
				id := w.start(catalog.chosen(name))
				w.ended(id)
				if asked, err := s.ApprovalsOf(t.Context(), id); err != nil || len(asked) != 0 {
					t.Errorf("what was remembered in %s asks again: %v", name, err)
				}
			}
		}
		w.drain()

		changed := defined(hidesMore)
		w = newWorld(t, s, uses("git log -1"), knowing(changed))
		id := w.start(changed.chosen("machine"))
		w.decide(w.approvals(id, 1)[0])
		w.ended(id)
		id = w.start(changed.chosen("workspace"))
		w.ended(id)
		if asked, err := s.ApprovalsOf(t.Context(), id); err != nil || len(asked) != 0 {
			t.Errorf("another environment has changed, and the workspace asks: %v", err)
		}
	})
}

func auditOf(t *testing.T, s *store.Store, id domain.ExecutionID) []domain.AuditRecord {
	t.Helper()
	entries, err := s.Audit(t.Context(), tenant, store.AuditFilter{Execution: id, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	records := make([]domain.AuditRecord, len(entries))
	for i, entry := range entries {
		if records[i], err = entry.Decoded(); err != nil {
			t.Fatal(err)
		}
	}
	return records
}

// TestAChangedDefinitionAsksAgain: a person has seen what the call would have run in, so after a restart with another definition the question is withdrawn
// and put anew. A yes to the old one runs nothing.
func TestAChangedDefinitionAsksAgain(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var starts atomic.Int32
		first := newWorld(t, s, resuming(&starts), knowing(defined()))
		id := first.start(defined().chosen("machine"))
		before := first.approvals(id, 1)[0]
		first.killed()

		changed := defined(hidesMore)
		second := newWorld(t, s, resuming(&starts), knowing(changed))
		second.service.UseEnvironments(changed)
		after := approvalsByID(second.approvals(id, 2))
		withdrawn := after[before.ID]
		delete(after, before.ID)
		if withdrawn.Status != domain.ApprovalCancelled || len(after) != 1 {
			t.Fatalf("the old question is %s, and %d others are there", withdrawn.Status, len(after))
		}
		_, err := second.service.Decide(t.Context(), tenant, before.ID, approvals.Answer{Verb: domain.Approve, ArgumentsHash: before.ArgumentsHash, By: alice})
		if domain.CodeOf(err) != domain.CodeApprovalCancelled || starts.Load() != 0 {
			t.Errorf("a yes to the old question: %v, and %d starts", err, starts.Load())
		}
		for _, asked := range after {
			if now := changed["machine"]; asked.ArgumentsHash == before.ArgumentsHash || !asked.Environment.Stamp().Same(now.Stamp()) {
				t.Errorf("the new question shows %+v", asked.Environment)
			}
			second.decide(asked)
		}
		if second.ended(id); starts.Load() != 1 {
			t.Errorf("%d starts", starts.Load())
		}
	})
}

func approvalsByID(all []domain.Approval) map[domain.ApprovalID]domain.Approval {
	byID := map[domain.ApprovalID]domain.Approval{}
	for _, one := range all {
		byID[one.ID] = one
	}
	return byID
}

// TestADecisionSeesTheChange: a replica that has the new definition takes no yes to the old one, before any session has looked.
func TestADecisionSeesTheChange(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var starts atomic.Int32
		w := newWorld(t, s, resuming(&starts), knowing(defined()))
		w.service.UseEnvironments(defined(hidesMore))
		id := w.start(defined().chosen("machine"))
		asked := w.approvals(id, 1)[0]
		_, err := w.service.Decide(t.Context(), tenant, asked.ID, approvals.Answer{Verb: domain.Approve, ArgumentsHash: asked.ArgumentsHash, By: alice})
		if domain.CodeOf(err) != domain.CodeArgumentsHash {
			t.Fatalf("a yes to the old definition: %v", err)
		}
		w.service.UseEnvironments(defined())
		again := approvalsByID(w.approvals(id, 2))
		if again[asked.ID].Status != domain.ApprovalCancelled {
			t.Errorf("the old question is %s", again[asked.ID].Status)
		}
		delete(again, asked.ID)
		for _, one := range again {
			w.decide(one)
		}
		if w.ended(id); starts.Load() != 1 {
			t.Errorf("%d starts", starts.Load())
		}
	})
}

// TestApprovalsOpenAtTheUpgradeStayDecidable: the hash is as the release before environments wrote it, and so is the row (see the store's
// TestApprovalsWithoutAnEnvironment).
func TestApprovalsOpenAtTheUpgradeStayDecidable(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		// SHA-256 of {"arguments":{"command":"ls"},"environment":[],"tool":"bash","version":"1","workingDirectory":"/work"}
		const older = "1538751423eb07ef098fc244a25e57ec55c7af0034c140f26b43d9a9b28a5e4f"
		var starts atomic.Int32
		first := newWorld(t, s, resuming(&starts))
		id := first.start() // its request says nothing of environments, as all of that release
		if got := first.approvals(id, 1)[0]; got.ArgumentsHash != older || got.Environment != nil {
			t.Fatalf("the hash is %s, in %+v", got.ArgumentsHash, got.Environment)
		}
		first.killed()

		second := newWorld(t, s, resuming(&starts), knowing(defined()))
		second.service.UseEnvironments(defined())
		all := second.approvals(id, 1)
		if len(all) != 1 || all[0].Environment != nil {
			t.Fatalf("after the upgrade: %+v", all)
		}
		second.decide(all[0])
		if second.ended(id); starts.Load() != 1 {
			t.Errorf("%d starts", starts.Load())
		}
		for _, record := range auditOf(t, s, id) {
			if record.Environment != nil {
				t.Errorf("the record %s has the environment %+v", record.Action, record.Environment)
			}
		}
	})
}

// TestAnEnvironmentThatIsGone: nobody is asked about a command that cannot run, and it does not pass for one of an older execution.
func TestAnEnvironmentThatIsGone(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), uses("ls"), knowing(defined(func(o operators) { delete(o, "machine") })))
	id := w.start(defined().chosen("machine"), func(r *domain.Request) { r.SafeModeOff = true })
	w.ended(id)
	if got := outcomes(t, w.events(id))["ls"]; got != domain.OutcomeFailed {
		t.Errorf("the command is %s", got)
	}
}

// TestTheEnvironmentOfAnAgent: the approval of a call that an external agent runs itself carries the environment of its process, and none where the
// process runs outside of any.
func TestTheEnvironmentOfAnAgent(t *testing.T) {
	for _, isolated := range []bool{false, true} {
		agent := &sessionstest.External{Opened: make(chan domain.Opening, 1), Script: func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "ls")
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			_, err := t.Host.Ask(ctx, domain.Question{Kind: domain.ApprovalAgentPermission, Call: call, Options: []byte(options), Isolated: isolated})
			return domain.StopEndTurn, err
		}}
		w := newWorld(t, storetest.SQLite(t), nil, externally(agent), knowing(defined()), func(c *dispatch.Config) { c.Sandbox = sessionstest.Sandbox{Kind: "bubblewrap"} })
		id := w.start(outside, defined().chosen("machine"))
		asked := w.approvals(id, 1)[0]
		older, err := approvals.Hash(asked.Call, asked.WorkingDirectory, nil)
		if err != nil {
			t.Fatal(err)
		}
		if outside := asked.Environment == nil && asked.ArgumentsHash == older; outside == isolated {
			t.Errorf("isolated %v: the environment is %+v", isolated, asked.Environment)
		}
		if none := asked.Isolation.Name == domain.IsolationNone; none == isolated {
			t.Errorf("isolated %v: the isolation is %s", isolated, asked.Isolation.Name)
		}
		w.decide(asked, deny("no"))
		w.ended(id)
	}
}
