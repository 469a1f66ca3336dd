package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func roundTrip(w *world) {
	id := domain.ExecutionID(newID())
	tokens := int64(7)
	create := creation(id)
	create.Create.Idempotency = &store.Idempotency{Key: "key", BodyHash: []byte{0, 1, 255}}
	want := create.Create.Execution
	want.ByKey = "key-1"
	want.Request.Metadata = map[string]string{"a<b": "\u2028"}
	create.Create.Execution = want
	w.accepted(create)

	want.LastSeq, want.Updated = 1, want.Created
	got := ok(w.s.Execution(w.ctx, tenant, id))(w)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error("the execution: ", diff)
	}
	got, hash, err := w.s.ExecutionByKey(w.ctx, tenant, "key")
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" || string(hash) != "\x00\x01\xff" {
		w.Error("the execution by its key: ", hash, diff)
	}
	if diff := cmp.Diff(withSeq(create.Events, 1), w.log(id)); diff != "" {
		w.Error("the event: ", diff)
	}

	a := approval(id)
	a.Options = json.RawMessage(`[ {"optionId":"<1>", "extra": 1.0} ]`)
	a.Question = json.RawMessage(`{ "message":"?","schema":{"b":1, "a":1} }`)
	expires := now().Add(time.Hour)
	a.Expires = &expires
	a.AskedBy, a.Reason = "capability", "It runs a <command>."
	a.Isolation, a.Environment = &domain.Isolation{Name: "bubblewrap"}, &domain.ApprovalEnvironment{
		EnvironmentStamp: domain.EnvironmentStamp{Name: "machine", Digest: "d"}, Risk: domain.ViewMachine, User: "nobody", Lends: []string{"KUBECONFIG"},
	}
	a.RememberOptions = []domain.RememberOption{{PreviewID: "p", Matcher: domain.Matcher{Path: "/w/<**>"}, Description: "d"}}
	tool := domain.MCPTool{Server: "s", Tool: "<t>", Definition: "d", Annotations: domain.MCPAnnotations{ReadOnly: new(false)}}
	pinnedAt := now()
	a.MCP = &domain.MCPReview{
		MCPTool: tool, Standing: domain.MCPToolChanged, PinnedHash: "p", PinnedAt: &pinnedAt, PinnedBy: &domain.Actor{KeyID: "k", Name: "<me>"},
		Changes: []domain.MCPChange{{Field: "/description", Before: new("<a>")}}, ChangesShort: true,
	}
	tool.Canonical = json.RawMessage(`{"description":"<&>"}`)
	a.Call.MCP = &tool
	step := said(id, 1, 2)
	a.RunbookPlace, a.Call.Description = domain.RunbookPlace{RunbookID: "disks", BlockID: "b<1>"}, "Runs a program."
	step.Ask = []domain.Approval{a}
	step.Update = &store.Update{Status: domain.StatusWaiting, Turn: 1, Rounds: 2, Usage: &domain.Usage{InputTokens: &tokens}}
	w.accepted(step)
	gotApproval := ok(w.s.Approval(w.ctx, tenant, a.ID))(w)
	if diff := cmp.Diff(a, gotApproval); diff != "" {
		w.Error("the approval: ", diff)
	}

	decided := resolved(id, a.ID, domain.ApprovalApproved, "key-2")
	decided.Resolve[0].Decision.Arguments = json.RawMessage(`{ "argv" : ["<&>"] }`)
	decided.Resolve[0].Decision.ArgumentsHash = "other"
	decided.Resolve[0].Decision.OptionID = "<1>"
	decided.Resolve[0].Decision.Answer = json.RawMessage(`{ "b" : "<` + "\u2028" + `>", "a" :1.0e1 }`)
	rule := rule(id)
	rule.Approval = a.ID
	decided.Remember = []domain.PermissionRule{rule}
	w.accepted(decided)
	gotApproval = ok(w.s.Approval(w.ctx, tenant, a.ID))(w)
	if gotApproval.Resolved == nil {
		w.Fatal("the approval has no time of its decision")
	}
	a.Status, a.Decision, a.Resolved = domain.ApprovalApproved, decided.Resolve[0].Decision, gotApproval.Resolved
	if diff := cmp.Diff(a, gotApproval); diff != "" {
		w.Error("the decided approval: ", diff)
	}
	rules := ok(w.s.Rules(w.ctx, tenant, id))(w)
	if diff := cmp.Diff([]domain.PermissionRule{rule}, rules); diff != "" {
		w.Error("the rule: ", diff)
	}

	w.accepted(ending(id, 1))
	got = ok(w.s.Execution(w.ctx, tenant, id))(w)
	if got.Ended == nil || got.Output == nil || got.Output.Text != "done" || got.Status != domain.StatusCompleted ||
		got.Turn != 1 || got.Rounds != 2 || *got.Usage.InputTokens != 7 || got.LastSeq != 5 {
		w.Errorf("the ended execution: %+v", got)
	}
	w.log(id)
}

func withSeq(events []domain.Event, first int64) []domain.Event {
	var all []domain.Event
	for i, event := range events {
		event.Seq = first + int64(i)
		all = append(all, event)
	}
	return all
}

func updateOnlyWhatIsNamed(w *world) {
	id := w.create()
	in := int64(1)
	w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Turn: 1, Rounds: 3, Usage: &domain.Usage{InputTokens: &in}}})
	check := func(status domain.Status, turn, rounds int) {
		w.Helper()
		e := ok(w.s.Execution(w.ctx, tenant, id))(w)
		if e.Status != status || e.Turn != turn || e.Rounds != rounds || e.Usage.InputTokens == nil || e.Ended != nil || e.LastSeq != 1 {
			w.Fatalf("%+v", e)
		}
	}
	check(domain.StatusQueued, 1, 3)
	w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusInitializing}})
	check(domain.StatusInitializing, 1, 3)
	w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Rounds: 4}})
	check(domain.StatusInitializing, 1, 4)
	w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Turn: 2}})
	check(domain.StatusInitializing, 2, 0)
}

func agentSession(w *world) {
	c := creation(domain.ExecutionID(newID()))
	c.Create.Execution.Request.Source = domain.Source{Type: domain.SourceACP, Command: "codex"}
	c.Create.Execution.AgentSession = "earlier"
	w.accepted(c)
	check := func(want string) {
		w.Helper()
		e := ok(w.s.Execution(w.ctx, tenant, c.Execution))(w)
		page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Agent: "codex"}))(w)
		if len(page.Items) != 1 || e.AgentSession != want || page.Items[0].AgentSession != want {
			w.Errorf("%q, %+v, want %q", e.AgentSession, page.Items, want)
		}
	}
	check("earlier")
	w.accepted(store.Change{Execution: c.Execution, Epoch: 1, Update: &store.Update{AgentSession: "<s\x00>"}})
	check("<s\uFFFD>")
	w.accepted(became(c.Execution, domain.StatusIdle))
	check("<s\uFFFD>")
}

func concurrentAppends(w *world) {
	const executions, writers, rounds = 8, 16, 12
	ids := w.createMany(executions)
	type taken struct {
		id   domain.ExecutionID
		last int64
		n    int
	}
	all := atOnce(writers, func(i int) (mine []taken) {
		s := w.replicas[i%len(w.replicas)]
		for round := range rounds {
			var changes []store.Change
			for j, id := range ids {
				if (i+j+round)%3 != 0 { // batches overlap and differ
					changes = append(changes, said(id, 1, 1+(i+round)%3))
				}
			}
			results, err := s.Commit(w.ctx, changes)
			if err != nil {
				w.Error(err)
				return mine
			}
			for j, result := range results {
				if result.Err != nil {
					w.Error(result.Err)
				}
				mine = append(mine, taken{changes[j].Execution, result.LastSeq, len(changes[j].Events)})
			}
		}
		return mine
	})
	owners := map[string]bool{}
	total := 0
	for _, mine := range all {
		for _, t := range mine {
			for seq := t.last - int64(t.n) + 1; seq <= t.last; seq++ {
				key := fmt.Sprint(t.id, "/", seq)
				if owners[key] {
					w.Errorf("%s was given out twice", key)
				}
				owners[key] = true
				total++
			}
		}
	}
	stored := -executions // event 1
	for _, id := range ids {
		stored += len(w.log(id))
	}
	if stored != total {
		w.Errorf("%d events are stored, %d were acknowledged", stored, total)
	}
}

func readerSeesNoHole(w *world) {
	id := w.create()
	ctx, stop := context.WithCancel(w.ctx)
	var writing sync.WaitGroup
	for i := range 4 {
		writing.Go(func() {
			for range 60 {
				if _, err := w.replicas[i%2].Commit(w.ctx, []store.Change{said(id, 1, 1+i)}); err != nil {
					w.Error(err)
				}
			}
		})
	}
	var reading sync.WaitGroup
	for i := range 4 {
		reading.Go(func() {
			after := int64(0)
			for over := false; !over; {
				over = ctx.Err() != nil // one more read after the last write
				events, err := w.replicas[i%2].Events(w.ctx, id, after, 7)
				if err != nil {
					w.Error(err)
					return
				}
				for _, event := range events {
					if event.Seq != after+1 {
						w.Errorf("after %d came %d", after, event.Seq)
						return
					}
					after = event.Seq
				}
			}
		})
	}
	writing.Wait()
	stop()
	reading.Wait()
	w.log(id)
}

func staleEpoch(w *world) {
	id := w.create()
	w.heartbeat("two")
	claimed := ok(w.s.Acquire(w.ctx, "two", 10))(w)
	if len(claimed) != 1 || claimed[0].Epoch != 2 {
		w.Fatalf("claimed %+v", claimed)
	}
	for _, epoch := range []int64{1, 3, math.MaxInt64} {
		c := said(id, epoch, 2)
		c.Update = &store.Update{Status: domain.StatusFailed, Turn: 9}
		c.Ask = []domain.Approval{approval(id)}
		c.Cancel = &store.CancelRequest{Reason: "no"}
		c.Progress = true
		w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
	}
	w.accepted(said(id, 2, 1))

	gone := domain.ExecutionID(newID())
	w.refused(w.commit(said(gone, 1, 1)).Err, domain.CodeStale)
	w.refused(w.commit(said(gone, 0, 1)).Err, domain.CodeStale)
	if events, err := w.s.Events(w.ctx, gone, 0, 10); err != nil || len(events) != 0 {
		w.Errorf("an execution that is not there has %d events, %v", len(events), err)
	}
}

func foreignWrites(w *world) {
	id := w.create()
	for _, step := range []struct {
		epoch int64
		bell  int64
	}{{1, 0}, {0, 1}, {1, 1}, {0, 2}} {
		w.accepted(said(id, step.epoch, 1))
		head := ok(w.s.Head(w.ctx, id))(w)
		if head.ForeignWrites != step.bell {
			w.Fatalf("after a change under epoch %d the bell is %d, want %d", step.epoch, head.ForeignWrites, step.bell)
		}
	}
	if seq := w.accepted(store.Change{Execution: id, Cancel: &store.CancelRequest{}}); seq != 5 {
		w.Errorf("a change without events says the head is %d", seq)
	}
	before := ok(w.s.Head(w.ctx, id))(w)
	w.accepted(store.Change{Execution: id, Notify: true})
	before.ForeignWrites++
	if after, err := w.s.Head(w.ctx, id); err != nil || after != before {
		w.Errorf("%+v, want %+v, %v", after, before, err)
	}
}

// refusedInBatch has each kind of refusal once, alone and all in one batch, always between changes that are fine.
func refusedInBatch(w *world) {
	used := creation(domain.ExecutionID(newID()))
	used.Create.Idempotency = &store.Idempotency{Key: "used", BodyHash: []byte{1}}
	w.accepted(used)
	taken := w.create()
	decided := w.asked(taken, 0)
	w.accepted(resolved(taken, decided, domain.ApprovalDenied, "first"))
	ended := w.create()
	w.accepted(ending(ended, 1))

	type refusal struct {
		code   domain.Code
		change func() store.Change
	}
	pending := func() (domain.ExecutionID, domain.ApprovalID) {
		id := w.create()
		return id, w.asked(id, 0)
	}
	refusals := map[string]refusal{
		"the key is taken": {domain.CodeConflict, func() store.Change {
			c := creation(domain.ExecutionID(newID()))
			c.Create.Idempotency = &store.Idempotency{Key: "used"}
			return c
		}},
		"the id is taken, after the key was written": {domain.CodeConflict, func() store.Change {
			c := creation(taken)
			c.Create.Idempotency = &store.Idempotency{Key: "fresh-" + newID()}
			return c
		}},
		"a stale epoch": {domain.CodeStale, func() store.Change { return said(w.create(), 2, 3) }},
		"a stale epoch, after an approval was resolved": {domain.CodeStale, func() store.Change {
			id, a := pending()
			c := resolved(id, a, domain.ApprovalCancelled, "")
			c.Epoch = 7
			return c
		}},
		"one of two approvals is not pending": {domain.CodeStale, func() store.Change {
			id, a := pending()
			c := resolved(id, a, domain.ApprovalApproved, "late")
			c.Resolve = append(c.Resolve, store.Resolution{Approval: domain.ApprovalID(newID()), Status: domain.ApprovalCancelled})
			return c
		}},
		"an ended execution": {domain.CodeStale, func() store.Change { return said(ended, 1, 1) }},
		"the id of an approval is taken, after events were written": {domain.CodeConflict, func() store.Change {
			id, a := pending()
			c := said(id, 1, 2)
			again := approval(id)
			again.ID = a
			c.Update = &store.Update{Status: domain.StatusStreaming}
			c.Ask = []domain.Approval{approval(id), again}
			return c
		}},
		"a closed execution takes no prompt": {domain.CodeClosed, func() store.Change {
			id := w.create()
			w.accepted(store.Change{Execution: id, Close: &domain.Actor{}})
			return prompted(id, domain.WhenBusyEnqueue, "k")
		}},
		"a prompt does not want to wait": {domain.CodeBusy, func() store.Change {
			return prompted(w.create(), domain.WhenBusyReject, "k")
		}},
		"the key of a prompt is taken": {domain.CodeConflict, func() store.Change {
			id := w.create()
			w.accepted(prompted(id, domain.WhenBusyEnqueue, "k"))
			return prompted(id, domain.WhenBusyEnqueue, "k")
		}},
		"there is nothing to resume": {domain.CodeNotInterrupted, func() store.Change {
			return resumed(w.create(), domain.ResumeLoad, "k")
		}},
		"the end of an execution with a prompt, after an approval was resolved": {domain.CodeStale, func() store.Change {
			id, a := pending()
			w.queued(id, domain.WhenBusyEnqueue)
			c := ending(id, 1)
			c.Resolve = resolved(id, a, domain.ApprovalCancelled, "").Resolve
			c.Debug = traced(id, 2, "x").Debug
			return c
		}},
		"one of two prompts is not queued": {domain.CodeStale, func() store.Change {
			id := w.create()
			c := started(id, domain.PromptID(newID()), 2)
			c.DiscardPrompts = []domain.PromptID{w.queued(id, domain.WhenBusyEnqueue)}
			return c
		}},
		"the id of a rule is taken": {domain.CodeConflict, func() store.Change {
			id := w.create()
			rule := rule(id)
			first := said(id, 0, 1)
			first.Remember = []domain.PermissionRule{rule}
			w.accepted(first)
			c := said(id, 0, 1)
			c.Remember = []domain.PermissionRule{rule}
			c.Cancel = &store.CancelRequest{}
			return c
		}},
	}
	hit := w.written(rule("")).ID
	check := func(changes []store.Change, codes []domain.Code) {
		w.Helper()
		pictures := map[domain.ExecutionID]string{}
		audited := len(w.chain(tenant))
		fine := w.createMany(len(changes) + 1)
		batch := []store.Change{said(fine[0], 1, 2)}
		for i, c := range changes {
			if _, err := w.s.Head(w.ctx, c.Execution); err == nil {
				pictures[c.Execution] = w.picture(c.Execution)
			}
			c.Remember, c.Hits, c.Audit = append(c.Remember, rule("")), []string{hit}, []domain.AuditRecord{record("refused")}
			batch = append(batch, c, said(fine[i+1], 1, 2))
		}
		results := ok(w.s.Commit(w.ctx, batch))(w)
		for i, c := range changes {
			w.refused(results[1+2*i].Err, codes[i])
			if before, known := pictures[c.Execution]; !known {
				_, err := w.s.Execution(w.ctx, tenant, c.Execution)
				w.refused(err, domain.CodeNotFound)
			} else if after := w.picture(c.Execution); before != after {
				w.Errorf("a refused change left something.\nbefore: %s\nafter:  %s", before, after)
			}
			if c.Create != nil && c.Create.Idempotency.Key != "used" {
				_, _, err := w.s.ExecutionByKey(w.ctx, tenant, c.Create.Idempotency.Key)
				w.refused(err, domain.CodeNotFound)
			}
		}
		if n := len(w.chain(tenant)) - audited; n != 0 {
			w.Errorf("%d entries tell of what was refused", n)
		}
		for i, id := range fine {
			if result := results[2*i]; result.Err != nil || result.LastSeq != 3 || len(w.log(id)) != 3 {
				w.Errorf("a change beside the refused ones: %+v", result)
			}
		}
	}
	var (
		all   []store.Change
		codes []domain.Code
		seen  = map[domain.ExecutionID]bool{}
	)
	for name, refusal := range refusals {
		w.Logf("alone: %s", name)
		check([]store.Change{refusal.change()}, []domain.Code{refusal.code})
		if c := refusal.change(); !seen[c.Execution] {
			seen[c.Execution] = true
			all, codes = append(all, c), append(codes, refusal.code)
		}
	}
	w.Log("all in one batch")
	check(all, codes)
}

func brokenBatch(w *world) {
	id := w.create()
	other := creation(domain.ExecutionID(newID()))
	other.Execution = id
	unborn := creation(domain.ExecutionID(newID()))
	unborn.Epoch = 0
	odd, silent, driven := prompted(id, "later", ""), prompted(id, domain.WhenBusyEnqueue, ""), prompted(id, domain.WhenBusyEnqueue, "")
	silent.Events, driven.Epoch = nil, 1
	both := started(id, "p", 1)
	both.DiscardPrompts = []domain.PromptID{"p"}
	for name, batch := range map[string][]store.Change{
		"two changes of one execution": {said(id, 1, 1), said(id, 1, 1)},
		"no execution":                 {said("", 1, 1)},
		"creates another":              {other},
		"created under epoch 0":        {unborn},
		"an update under epoch 0":      {{Execution: id, Update: &store.Update{Turn: 1}}},
		"an unknown status":            {{Execution: id, Epoch: 1, Update: &store.Update{Status: "bogus"}}},
		"a prompt of an unknown kind":  {odd},
		"a prompt without an event":    {silent},
		"a prompt of the driver":       {driven},
		"a start without a turn":       {{Execution: id, Epoch: 1, StartPrompt: "p", Update: &store.Update{}}},
		"a start without an update":    {{Execution: id, Epoch: 1, StartPrompt: "p"}},
		"a start under epoch 0":        {{Execution: id, StartPrompt: "p"}},
		"started and discarded":        {both},
		"a discard under epoch 0":      {{Execution: id, DiscardPrompts: []domain.PromptID{"p"}}},
		"closed by the driver":         {{Execution: id, Epoch: 1, Close: &domain.Actor{}}},
		"resumed by the driver":        {{Execution: id, Epoch: 1, Resume: &store.ResumeRequest{Mode: domain.ResumeLoad}}},
		"an unknown way to resume":     {{Execution: id, Resume: &store.ResumeRequest{Mode: "bogus"}}},
		"taken under epoch 0":          {{Execution: id, Resumed: true}},
		"an unknown kind of approval":  {{Execution: id, Epoch: 1, Ask: []domain.Approval{{ID: "a", Kind: "bogus"}}}},
		"an unknown cause":             {{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusInterrupted, Cause: "bogus"}}},
		"a cause of another status":    {{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusIdle, Cause: domain.CauseProvider}}},
		"raw messages under epoch 0":   {{Execution: id, Debug: traced(id, 1, "x").Debug}},
		"rung by the driver":           {{Execution: id, Epoch: 1, Notify: true}},
		"a client asked under epoch 0": {{Execution: id, ClientCalls: store.ClientCalls{AskClient: []domain.ClientCall{{ToolCallID: "c"}}}}},
		"closed for a client under epoch 0": {{Execution: id, ClientCalls: store.ClientCalls{CloseClient: []store.ClientClosing{
			{ToolCallID: "c", To: domain.ClientCallCancelled}}}}},
		"answered by the driver":     {{Execution: id, Epoch: 1, AnswerClient: &store.ClientAnswering{ToolCallID: "c"}}},
		"generated under epoch 0":    {{Execution: id, Generate: &domain.Generation{Number: 1}}},
		"accepted by the driver":     {{Execution: id, Epoch: 1, Accept: &store.Acceptance{Generation: 1}}},
		"a rule of no scope":         {{Execution: id, Remember: []domain.PermissionRule{{ID: "r", Effect: domain.Allow}}}},
		"a rule without an effect":   {{Execution: id, Remember: []domain.PermissionRule{{ID: "r", Scope: domain.RememberGlobal}}}},
		"under a negative epoch":     {said(id, -1, 1)},
		"quiet by itself":            {{Execution: id, Quiet: true}},
		"left out by itself":         {{Execution: id, IfLive: true}},
		"a child by itself":          {w.childOf(id)},
		"a child of another":         {linking(w.create(), w.childOf(id))},
		"a child of nobody's driver": {{Execution: id, Linked: []store.Change{w.childOf(id)}}},
		"a root that is linked":      {linking(id, creation(domain.ExecutionID(newID())))},
		"linked to itself":           {linking(id, said(id, 0, 1))},
		"linked twice":               {linking(id, linking(w.create()), linking(w.create(), said(w.create(), 0, 1)))},
		"linked by two":              {linking(w.create(), said(id, 0, 1)), linking(w.create(), said(id, 0, 1))},
		"linked by its driver":       {linking(w.create(), said(id, 1, 1))},
		"linked, and repeatable":     {linking(w.create(), store.Change{Execution: id, AnswerClient: &store.ClientAnswering{ToolCallID: "c"}})},
		"repeatable, with a linked":  {{Execution: id, Accept: &store.Acceptance{}, Linked: []store.Change{said(w.create(), 0, 1)}}},
		"a quiet request":            {linking(w.create(), store.Change{Execution: id, Quiet: true, Cancel: &store.CancelRequest{}})},
		"an approval left out":       {linking(w.create(), ifLive(resolved(id, "a", domain.ApprovalCancelled, "")))},
		"a rest under epoch 0":       {{Execution: id, Rest: &domain.DelegateResult{}}},
		"a rest in a turn":           {{Execution: id, Epoch: 1, Rest: &domain.DelegateResult{}, Update: &store.Update{Status: domain.StatusStreaming}}},
		"a taking under epoch 0":     {{Execution: id, Taken: map[domain.ExecutionID]int{"x": 1}}},
		"an audit of nothing":        {{Execution: id, Audit: []domain.AuditRecord{{}}}},
		"an audit that is not JSON":  {{Execution: id, Audit: []domain.AuditRecord{{Action: "a", Details: json.RawMessage("{")}}}},
	} {
		w.untouched(id, func() {
			if _, err := w.s.Commit(w.ctx, append(batch, said(w.create(), 1, 1))); domain.CodeOf(err) != domain.CodeInternal {
				w.Errorf("%s: %v", name, err)
			}
		})
	}
	if results, err := w.s.Commit(w.ctx, nil); err != nil || len(results) != 0 {
		w.Errorf("an empty batch: %v, %v", results, err)
	}
}

func cancelledCaller(w *world) {
	id := w.create()
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	w.untouched(id, func() {
		_, err := w.s.Commit(ctx, []store.Change{said(id, 1, 1)})
		w.refused(err, domain.CodeStorage)
		if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrCommitUnknown) {
			w.Errorf("the error does not say why: %v", err)
		}
	})
	// A caller that gives up at any moment leaves all or nothing, and is told which.
	for i := range 40 {
		ctx, cancel := context.WithTimeout(w.ctx, time.Duration(i)*100*time.Microsecond)
		before := int64(len(w.log(id)))
		_, err := w.s.Commit(ctx, []store.Change{said(id, 1, 3)})
		cancel()
		after := int64(len(w.log(id)))
		if want := before + 3; err == nil && after != want || err != nil && after != before {
			w.Fatalf("the log went from %d to %d, and the caller was told %v", before, after, err)
		}
	}
}

func terminal(w *world) {
	for _, end := range []domain.Status{domain.StatusCompleted, domain.StatusFailed, domain.StatusCancelled, domain.StatusTimedOut} {
		id := w.create()
		a := w.asked(id, 0)
		w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: end},
			Events: []domain.Event{event(id, domain.ExecutionEnded{Status: end})}})
		for _, status := range domain.Statuses {
			for _, epoch := range []int64{1, 2} {
				c := said(id, epoch, 1)
				c.Update = &store.Update{Status: status}
				w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
			}
		}
		for _, c := range []store.Change{
			said(id, 0, 1), said(id, 1, 0), resolved(id, a, domain.ApprovalApproved, "late"),
			{Execution: id, Cancel: &store.CancelRequest{}},
			{Execution: id, Epoch: 1, Update: &store.Update{Turn: 3}},
		} {
			w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
		}
	}
	w.heartbeat("two")
	if claimed, err := w.s.Acquire(w.ctx, "two", 100); err != nil || len(claimed) != 0 {
		w.Errorf("claimed %d of the dead, %v", len(claimed), err)
	}
}

func statuses(w *world) {
	for _, status := range domain.Statuses {
		c := creation(domain.ExecutionID(newID()))
		c.Create.Execution.Status = status
		w.accepted(c)
		e := ok(w.s.Execution(w.ctx, tenant, c.Execution))(w)
		head := ok(w.s.Head(w.ctx, c.Execution))(w)
		if e.Status != status || head.Terminal != status.Terminal() {
			w.Errorf("stored %s, read %s; terminal: %v", status, e.Status, head.Terminal)
		}
	}
	c := creation(domain.ExecutionID(newID()))
	c.Create.Execution.Status = "bogus"
	_, err := w.s.Commit(w.ctx, []store.Change{c})
	w.refused(err, domain.CodeInternal)
}

func bytesSurvive(w *world) {
	id := w.create()
	texts := []string{
		`{"t":"\u0000"}`, `{"t":"\ud800"}`, `{"t":"\uDC00\uD800"}`, "{\"t\":\"\u2028\u2029\"}", `{ "b" : 1, "a" :1.0e1, "a":2 }`,
		`{"t":"<>&'\"\\"}`, "{\"t\":\"\U0001F600\uFFFF\uFEFF\"}", `{"n":123456789012345678901234567890.10}`, "{\"t\":\"a\\nb\"}\n ",
		"{\"t\":\"é\u0301\"}", `{"$1":"' or 1=1 --"}`, `{}`, ``,
	}
	c := store.Change{Execution: id, Epoch: 1}
	for _, text := range texts {
		e := event(id, domain.MessageDelta{})
		e.Data = json.RawMessage(text)
		c.Events = append(c.Events, e)
	}
	a := approval(id)
	a.Call.Arguments = json.RawMessage(`{ "x" : "\u0000\ud800<` + "\u2028" + `" }`)
	c.Ask = []domain.Approval{a}
	w.accepted(c)
	for i, e := range w.log(id)[1:] {
		if string(e.Data) != texts[i] {
			w.Errorf("wrote %q, read %q", texts[i], e.Data)
		}
	}
	got := ok(w.s.Approval(w.ctx, tenant, a.ID))(w)
	if string(got.Call.Arguments) != string(a.Call.Arguments) {
		w.Errorf("wrote %q, read %q", a.Call.Arguments, got.Call.Arguments)
	}

	// What is not text at all becomes text, the same on both engines, and the caller sees what is stored.
	c = store.Change{Execution: id, Epoch: 1, Events: []domain.Event{event(id, domain.MessageDelta{})}, Ask: []domain.Approval{approval(id)}}
	c.Events[0].Data = json.RawMessage("{\"t\":\"a\xffb\x00\"}")
	c.Ask[0].Call.Tool, c.Ask[0].Call.Summary = "rm\x00", "\xc3"
	seq := w.accepted(c)
	const want = "{\"t\":\"a\uFFFDb\uFFFD\"}"
	if events, err := w.s.Events(w.ctx, id, seq-1, 1); err != nil || string(events[0].Data) != want || string(c.Events[0].Data) != want {
		w.Errorf("stored %q, the caller has %q, %v", events[0].Data, c.Events[0].Data, err)
	}
	got = ok(w.s.Approval(w.ctx, tenant, c.Ask[0].ID))(w)
	if got.Call.Tool != "rm\uFFFD" || got.Call.Summary != "\uFFFD" {
		w.Errorf("%q %q", got.Call.Tool, got.Call.Summary)
	}
	for _, odd := range []string{"\x00", "\xff", "'", "é", ""} {
		_, err := w.s.Execution(w.ctx, domain.TenantID(odd), domain.ExecutionID(odd))
		w.refused(err, domain.CodeNotFound)
	}
}

func largeBatch(w *world) {
	ids := w.createMany(1500)
	var changes []store.Change
	for i, id := range ids {
		c := said(id, 1, 2)
		if i == 7 {
			c = said(id, 1, 2500)
		}
		if i%5 == 0 {
			c.Ask = []domain.Approval{approval(id)}
		}
		c.Update = &store.Update{Status: domain.StatusStreaming}
		changes = append(changes, c)
	}
	results := ok(w.s.Commit(w.ctx, changes))(w)
	for i, result := range results {
		if want := int64(1 + len(changes[i].Events)); result.Err != nil || result.LastSeq != want {
			w.Fatalf("%+v, want %d", result, want)
		}
	}
	w.log(ids[7])
	if all := w.heads(ids); len(all) != len(ids) {
		w.Errorf("%d heads of %d", len(all), len(ids))
	}
}

// crossingBatches: replicas write the same executions, and their approvals, in opposite orders.
func crossingBatches(w *world) {
	const executions = 12
	ids := w.createMany(executions)
	for round := range 10 {
		var approvals []domain.ApprovalID
		for _, id := range ids {
			approvals = append(approvals, w.asked(id, 0))
		}
		won := atOnce(8, func(i int) (won int) {
			var changes []store.Change
			for j := range ids {
				if i%2 == 1 {
					j = executions - 1 - j
				}
				changes = append(changes, resolved(ids[j], approvals[j], domain.ApprovalApproved, fmt.Sprint(i)))
			}
			results, err := w.replicas[i%2].Commit(w.ctx, changes)
			if err != nil {
				w.Errorf("round %d: %v", round, err)
			}
			return count(results, func(o store.Result) bool { return o.Err == nil })
		})
		total := 0
		for _, n := range won {
			total += n
		}
		if total != executions {
			w.Errorf("%d decisions won for %d approvals", total, executions)
		}
	}
	for _, id := range ids {
		w.log(id)
	}
}
