package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// prompted is a change from outside that takes a prompt in, under a key where there is one.
func prompted(id domain.ExecutionID, when domain.WhenBusy, key string) store.Change {
	p := domain.QueuedPrompt{ID: domain.PromptID(newID()), Execution: id, Text: "go on", WhenBusy: when,
		By: domain.Actor{KeyID: "k", Name: "<me>"}, Created: now()}
	c := store.Change{Execution: id, Prompt: &store.NewPrompt{Prompt: p},
		Events: []domain.Event{event(id, domain.PromptQueued{PromptID: p.ID, Text: p.Text, WhenBusy: when, By: p.By})}}
	if key != "" {
		c.Prompt.Idempotency = &store.Idempotency{Key: key, BodyHash: []byte(p.ID)}
	}
	return c
}

// queued takes a prompt in, which must be accepted.
func (w *world) queued(id domain.ExecutionID, when domain.WhenBusy) domain.PromptID {
	w.Helper()
	c := prompted(id, when, "")
	w.accepted(c)
	return c.Prompt.Prompt.ID
}

// became is a change of its driver that gives an execution another status.
func became(id domain.ExecutionID, status domain.Status) store.Change {
	if status.Terminal() {
		c := ending(id, 1)
		c.Update.Status = status
		c.Events = []domain.Event{event(id, domain.ExecutionEnded{Status: status})}
		return c
	}
	return store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: status},
		Events: []domain.Event{event(id, domain.StateChanged{To: status})}}
}

// idle creates an execution that rests.
func (w *world) idle() domain.ExecutionID {
	w.Helper()
	id := w.create()
	w.accepted(became(id, domain.StatusIdle))
	return id
}

func started(id domain.ExecutionID, prompt domain.PromptID, turn int) store.Change {
	c := became(id, domain.StatusWaiting)
	c.StartPrompt, c.Update.Turn = prompt, turn
	return c
}

func (w *world) controlRequests(id domain.ExecutionID) store.ControlRequests {
	w.Helper()
	wishes := ok(w.s.ControlRequests(w.ctx, id))(w)
	return wishes
}

func (w *world) waiting(id domain.ExecutionID) (prompts []domain.PromptID) {
	w.Helper()
	for _, p := range w.controlRequests(id).Prompts {
		prompts = append(prompts, p.ID)
	}
	return prompts
}

func promptRoundTrip(w *world) {
	id := w.create()
	c := prompted(id, domain.WhenBusyEnqueue, "key")
	c.Prompt.Prompt.Text = "{ \"t\": \"<\u2028é\" }\n "
	c.Prompt.Idempotency.BodyHash = []byte{0, 255}
	c.Prompt.Prompt.Options = map[string]string{"mode": "plan", "a/\"b": "<é>"}
	want := c.Prompt.Prompt
	if seq := w.accepted(c); seq != 2 {
		w.Errorf("seq %d", seq)
	}
	check := func() {
		w.Helper()
		got, hash, err := w.s.PromptByKey(w.ctx, id, "key")
		w.must(err)
		if diff := cmp.Diff(want, got); diff != "" || string(hash) != "\x00\xff" {
			w.Error("by its key: ", hash, diff)
		}
	}
	check()
	if diff := cmp.Diff(store.ControlRequests{Prompts: []domain.QueuedPrompt{want}}, w.controlRequests(id)); diff != "" {
		w.Error("among the wishes: ", diff)
	}
	w.accepted(started(id, want.ID, 2))
	check() // also when it has had its turn
	if prompts := w.waiting(id); len(prompts) != 0 {
		w.Errorf("it is started, and waits: %v", prompts)
	}
	if e, err := w.s.Execution(w.ctx, tenant, id); err != nil || e.Turn != 2 {
		w.Errorf("turn %d, %v", e.Turn, err)
	}
	head, err := w.s.Head(w.ctx, id)
	w.must(err)
	if head.ForeignWrites != 1 {
		w.Errorf("the bell is %d", head.ForeignWrites)
	}
	_, _, err = w.s.PromptByKey(w.ctx, w.create(), "key")
	w.refused(err, domain.CodeNotFound)
	_, _, err = w.s.PromptByKey(w.ctx, id, "other")
	w.refused(err, domain.CodeNotFound)

	w.queued(id, domain.WhenBusyEnqueue) // without a key, and so is the next
	bare := prompted(id, domain.WhenBusyEnqueue, "")
	bare.Prompt.Prompt.Text = "\xff\x00"
	w.accepted(bare)
	if prompts := w.controlRequests(id).Prompts; len(prompts) != 2 || prompts[1].Text != "\uFFFD\uFFFD" {
		w.Errorf("%+v", prompts)
	}
}

// agentOptions: the newest event counts, of this execution.
func agentOptions(w *world) {
	id, neighbour := w.create(), w.create()
	is := func(of domain.ExecutionID, current string) {
		w.Helper()
		options := ok(w.s.AgentOptions(w.ctx, of))(w)
		if got := append(options, domain.AgentOption{})[0].Current; got != current {
			w.Errorf("%q is chosen, want %q: %+v", got, current, options)
		}
	}
	is(id, "")
	for _, current := range []string{"ask", "<plan>"} {
		option := domain.AgentOption{ID: "mode", Category: "mode", Current: current, Choices: []domain.AgentChoice{{Value: current}}}
		w.accepted(store.Change{Execution: id, Epoch: 1, Events: []domain.Event{
			event(id, domain.AgentOptionsUpdated{Options: []domain.AgentOption{option}}), event(id, domain.AgentSilent{Seconds: 1}),
		}})
		is(id, current)
	}
	is(neighbour, "")
	is(domain.ExecutionID(newID()), "")
}

// promptOrder: those that interrupt come first, and among their like the older one does.
func promptOrder(w *world) {
	id, neighbour := w.create(), w.create()
	w.queued(neighbour, domain.WhenBusyInterrupt)
	var want []domain.PromptID
	for _, when := range []domain.WhenBusy{domain.WhenBusyEnqueue, domain.WhenBusyInterrupt, domain.WhenBusyEnqueue,
		domain.WhenBusyInterrupt, domain.WhenBusyEnqueue} {
		c := prompted(id, when, "")
		c.Prompt.Prompt.Created = now().Add(-time.Duration(len(want)) * time.Hour) // clocks differ
		w.accepted(c)
		want = append(want, c.Prompt.Prompt.ID)
	}
	want = []domain.PromptID{want[1], want[3], want[0], want[2], want[4]}
	if got := w.waiting(id); !slices.Equal(got, want) {
		w.Errorf("%v, want %v", got, want)
	}
	c := started(id, want[0], 1)
	c.DiscardPrompts = []domain.PromptID{want[1], want[3]}
	w.accepted(c)
	if got := w.waiting(id); !slices.Equal(got, []domain.PromptID{want[2], want[4]}) {
		w.Errorf("%v, want the first and the last of %v", got, want)
	}
}

func promptRefusals(w *world) {
	refused := func(c store.Change, code domain.Code) {
		w.Helper()
		w.untouched(c.Execution, func() { w.refused(w.commit(c).Err, code) })
	}
	for _, status := range domain.Statuses {
		if status == domain.StatusIdle || status.Terminal() {
			continue
		}
		id := w.create()
		if status != domain.StatusQueued {
			w.accepted(became(id, status))
		}
		refused(prompted(id, domain.WhenBusyReject, ""), domain.CodeBusy)
		w.queued(id, domain.WhenBusyInterrupt)
	}

	id := w.idle()
	w.accepted(prompted(id, domain.WhenBusyReject, "key"))
	refused(prompted(id, domain.WhenBusyReject, ""), domain.CodeBusy)
	w.queued(id, domain.WhenBusyEnqueue)
	refused(prompted(id, domain.WhenBusyEnqueue, "key"), domain.CodeConflict)
	w.accepted(prompted(w.create(), domain.WhenBusyEnqueue, "key")) // of another execution
	again := prompted(id, domain.WhenBusyEnqueue, "")
	again.Prompt.Prompt.ID = w.waiting(id)[0]
	refused(again, domain.CodeConflict)

	w.accepted(store.Change{Execution: id, Close: &domain.Actor{KeyID: "k"}})
	refused(prompted(id, domain.WhenBusyEnqueue, ""), domain.CodeClosed)
	refused(prompted(id, domain.WhenBusyReject, "key"), domain.CodeConflict) // who repeats is told that it was taken in

	end := became(id, domain.StatusCompleted)
	end.DiscardPrompts = w.waiting(id)
	w.accepted(end)
	refused(prompted(id, domain.WhenBusyEnqueue, ""), domain.CodeStale)
	w.refused(w.commit(prompted(domain.ExecutionID(newID()), domain.WhenBusyEnqueue, "")).Err, domain.CodeStale)
}

func promptsAreBounded(w *world) {
	id := w.create()
	var first domain.PromptID
	for i := range 100 {
		if p := w.queued(id, domain.WhenBusyEnqueue); i == 0 {
			first = p
		}
	}
	c := prompted(id, domain.WhenBusyEnqueue, "")
	w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeBusy) })
	w.accepted(started(id, first, 1))
	results := w.promptsAtOnce(8, func(int) store.Change { return prompted(id, domain.WhenBusyInterrupt, "") })
	w.oneOf(results, domain.CodeBusy)
	if n := len(w.waiting(id)); n != 100 {
		w.Errorf("%d wait", n)
	}
}

// noPromptIsLost: what was acknowledged is started or discarded before the execution rests or ends.
func noPromptIsLost(w *world) {
	for _, status := range []domain.Status{domain.StatusIdle, domain.StatusCompleted, domain.StatusFailed,
		domain.StatusCancelled, domain.StatusTimedOut} {
		id := w.create()
		one, two := w.queued(id, domain.WhenBusyEnqueue), w.queued(id, domain.WhenBusyInterrupt)
		c := became(id, status)
		w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
		c.DiscardPrompts = []domain.PromptID{one}
		w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
		c.StartPrompt, c.Update.Turn = two, 2
		w.accepted(c)
	}
	id := w.create()
	w.queued(id, domain.WhenBusyEnqueue)
	for _, status := range []domain.Status{domain.StatusInitializing, domain.StatusWaiting, domain.StatusInterrupted} {
		w.accepted(became(id, status))
	}
	w.accepted(became(w.create(), domain.StatusCompleted)) // the prompts of others do not count
}

func promptsMoveOnce(w *world) {
	id, other := w.create(), w.create()
	one, two, foreign := w.queued(id, domain.WhenBusyEnqueue), w.queued(id, domain.WhenBusyEnqueue), w.queued(other, domain.WhenBusyEnqueue)
	c := started(id, one, 1)
	c.DiscardPrompts = []domain.PromptID{two}
	w.accepted(c)
	for _, prompt := range []domain.PromptID{one, two, foreign, domain.PromptID(newID())} {
		discard := store.Change{Execution: id, Epoch: 1, DiscardPrompts: []domain.PromptID{prompt}}
		for _, c := range []store.Change{started(id, prompt, 2), discard} {
			w.untouched(other, func() {
				w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
			})
		}
	}
	stale := started(other, foreign, 1)
	stale.Epoch = 2
	w.untouched(other, func() { w.refused(w.commit(stale).Err, domain.CodeStale) })
}

// promptsAtOnce commits n changes at once, on both replicas.
func (w *world) promptsAtOnce(n int, change func(i int) store.Change) []store.Result {
	w.Helper()
	return atOnce(n, func(i int) store.Result {
		results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{change(i)})
		if err != nil {
			w.Error(err)
			return store.Result{}
		}
		return results[0]
	})
}

// oneOf fails the test unless one was accepted and the others refused with code.
func (w *world) oneOf(results []store.Result, code domain.Code) {
	w.Helper()
	if n := count(results, func(o store.Result) bool { return o.Err == nil }); n != 1 {
		w.Fatalf("%d were accepted", n)
	}
	for _, result := range results {
		if result.Err != nil {
			w.refused(result.Err, code)
		}
	}
}

// promptsAgainstTheEnd: prompts come while the driver ends the execution, or lets it rest. Whoever is second finds what
// the first one did.
func promptsAgainstTheEnd(w *world) {
	ended, refused := 0, 0
	for round := range 40 {
		id := w.create()
		status := []domain.Status{domain.StatusCompleted, domain.StatusIdle}[round%2]
		results := w.promptsAtOnce(6, func(i int) store.Change {
			if i == round%6 {
				return became(id, status)
			}
			return prompted(id, domain.WhenBusyEnqueue, "")
		})
		end := results[round%6]
		prompts := slices.Delete(slices.Clone(results), round%6, round%6+1)
		for i, prompt := range prompts {
			if end.Err == nil && prompt.Err == nil && prompt.LastSeq < end.LastSeq {
				w.Errorf("round %d: the execution became %s over prompt %d of %+v", round, status, i, results)
			}
		}
		taken := count(prompts, func(o store.Result) bool { return o.Err == nil })
		if n := len(w.waiting(id)); n != taken {
			w.Errorf("round %d: %d prompts were taken in, %d wait", round, taken, n)
		}
		if end.Err != nil {
			w.refused(end.Err, domain.CodeStale)
			refused++
		} else {
			ended++
		}
		w.log(id)
	}
	w.Logf("the driver was first %d times, and too late %d times", ended, refused)
}

// onlyOneTurnIsFree: of prompts that do not want to wait, one gets the execution that rests.
func onlyOneTurnIsFree(w *world) {
	for range 10 {
		id := w.idle()
		w.oneOf(w.promptsAtOnce(8, func(int) store.Change { return prompted(id, domain.WhenBusyReject, "") }), domain.CodeBusy)
		if n := len(w.waiting(id)); n != 1 {
			w.Errorf("%d wait", n)
		}
	}
}

func promptOnce(w *world) {
	for round := range 10 {
		id, key := w.create(), fmt.Sprint("key-", round)
		changes := make([]store.Change, 8)
		for i := range changes {
			changes[i] = prompted(id, domain.WhenBusyEnqueue, key)
		}
		results := w.promptsAtOnce(len(changes), func(i int) store.Change { return changes[i] })
		w.oneOf(results, domain.CodeConflict)
		won := slices.IndexFunc(results, func(o store.Result) bool { return o.Err == nil })
		p, hash, err := w.s.PromptByKey(w.ctx, id, key)
		w.must(err)
		if want := changes[won].Prompt.Prompt.ID; p.ID != want || string(hash) != string(want) {
			w.Errorf("%s won, the key says %s", want, p.ID)
		}
	}
}
