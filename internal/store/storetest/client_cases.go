package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// clientCall is a call that its client runs, and that waits for ttl by the clock of the database; 0 is for ever.
func (w *world) clientCall(id domain.ExecutionID, call string, ttl time.Duration) domain.ClientCall {
	w.Helper()
	c := domain.ClientCall{Execution: id, ToolCallID: call, Tool: "insert_blocks", Arguments: json.RawMessage(`{ "at": "<1>" }`),
		State: domain.ClientCallWaiting, Asked: now()}
	if ttl != 0 {
		expires := ok(w.s.Now(w.ctx))(w)
		expires = expires.Add(ttl)
		c.Expires = &expires
	}
	return c
}

// askedClient hands calls to the client that wait for ever.
func (w *world) askedClient(id domain.ExecutionID, calls ...string) {
	w.Helper()
	c := said(id, 1, 1)
	for _, call := range calls {
		c.AskClient = append(c.AskClient, w.clientCall(id, call, 0))
	}
	w.accepted(c)
}

func answered(id domain.ExecutionID, call, output, failure string) store.Change {
	return store.Change{Execution: id, AnswerClient: &store.ClientAnswering{ToolCallID: call,
		Answer: domain.ClientAnswer{Output: output, Error: failure, By: domain.Actor{KeyID: "k", Name: "<me>"}}}}
}

func closedClient(id domain.ExecutionID, call string, to domain.ClientCallState) store.Change {
	return store.Change{Execution: id, Epoch: 1, ClientCalls: store.ClientCalls{CloseClient: []store.ClientClosing{{ToolCallID: call, To: to}}}}
}

// clientCalls reads the calls with the ids; without ids those that wait.
func (w *world) clientCalls(id domain.ExecutionID, ids ...string) []domain.ClientCall {
	w.Helper()
	calls := ok(w.s.ClientCalls(w.ctx, id, ids...))(w)
	return calls
}

// stands fails the test unless the client's calls a, b, c and d have these states, in the order of asking.
func (w *world) stands(id domain.ExecutionID, want ...domain.ClientCallState) {
	w.Helper()
	var got []domain.ClientCallState
	for _, call := range w.clientCalls(id, "a", "b", "c", "d") {
		got = append(got, call.State)
	}
	if !slices.Equal(got, want) {
		w.Fatalf("%v, want %v", got, want)
	}
}

func clientCallRoundTrip(w *world) {
	id, neighbour := w.create(), w.create()
	w.askedClient(neighbour, "a", "b") // the ids are the model's, and so the same
	first, second := w.clientCall(id, "b", time.Hour), w.clientCall(id, "a", 0)
	second.Asked = first.Asked.Add(-time.Hour) // clocks differ
	c := said(id, 1, 1)
	c.AskClient = []domain.ClientCall{first, second}
	w.accepted(c)
	third := w.clientCall(id, "\xff\x00", 0)
	third.Asked, third.Arguments = second.Asked, json.RawMessage("{\"a\":1.0, \"\u2028\" : \"<é>\"}")
	w.accepted(store.Change{Execution: id, Epoch: 1, ClientCalls: store.ClientCalls{AskClient: []domain.ClientCall{third}}})
	third.ToolCallID = "\uFFFD\uFFFD"
	want := []domain.ClientCall{first, second, third}
	if diff := cmp.Diff(want, w.clientCalls(id)); diff != "" {
		w.Error(diff)
	}

	failed, fine := answered(id, "b", "", "no such \x00block\xff"), answered(id, "\xff\x00", "{ \"rows\": \"<\u2028>\" }\n ", "")
	w.accepted(failed)
	w.accepted(fine)
	want[0].State, want[2].State = domain.ClientCallAnswered, domain.ClientCallAnswered
	want[0].Answer, want[2].Answer = &failed.AnswerClient.Answer, &fine.AnswerClient.Answer
	want[0].Answer.Error = "no such \uFFFDblock\uFFFD"
	if diff := cmp.Diff(want, w.clientCalls(id, "a", "b", "\xff\x00", "unknown")); diff != "" {
		w.Error("answered: ", diff)
	}
	head := ok(w.s.Head(w.ctx, id))(w)
	if head.ForeignWrites != 2 || head.LastSeq != 2 {
		w.Errorf("the driver does not hear of two answers: %+v", head)
	}
	w.stands(neighbour, domain.ClientCallWaiting, domain.ClientCallWaiting)
	if calls := w.clientCalls(w.create()); len(calls) != 0 {
		w.Errorf("%v of nobody", calls)
	}
}

// clientCallsInParts: without ids it is what waits, and with ids nothing else, whatever has become of it.
func clientCallsInParts(w *world) {
	id, neighbour := w.create(), w.create()
	w.askedClient(neighbour, "a", "b", "c", "n")
	w.askedClient(id, "d", "c", "b", "a")
	read := func(want []string, ids ...string) {
		w.Helper()
		var got []string
		for _, call := range w.clientCalls(id, ids...) {
			if call.Execution != id || (call.Answer != nil) != (call.State == domain.ClientCallAnswered) {
				w.Errorf("%+v", call)
			}
			got = append(got, call.ToolCallID)
		}
		if !slices.Equal(got, want) {
			w.Errorf("by %v: %v, want %v", ids, got, want)
		}
	}
	read([]string{"d", "c", "b", "a"})
	w.accepted(answered(id, "c", "x", ""))
	w.accepted(closedClient(id, "a", domain.ClientCallCancelled))
	read([]string{"d", "b"})
	read([]string{"c"}, "c")
	read([]string{"d", "c", "a"}, "a", "n", "c", "d", "c", "\xff")
	read(nil, "n")
	w.accepted(ending(id, 1))
	read(nil)
	read([]string{"d", "c"}, "c", "d")
}

func clientCallIsAskedOnce(w *world) {
	id := w.create()
	w.askedClient(id, "a")
	c := said(id, 1, 1)
	c.AskClient = []domain.ClientCall{w.clientCall(id, "b", 0), w.clientCall(id, "a", 0)}
	w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeConflict) })
	c.Epoch, c.AskClient = 2, c.AskClient[:1]
	w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
	w.accepted(answered(id, "a", "x", ""))
	w.askedClient(id, "b")
	w.stands(id, domain.ClientCallAnswered, domain.ClientCallWaiting)
}

// answersAgain: a client that did not hear of its success gets it again, and it leaves nothing; also when its answer has brought
// the execution to its end.
func answersAgain(w *world) {
	id := w.create()
	w.askedClient(id, "a", "b", "c", "d")
	w.accepted(answered(id, "a", "out\xff", ""))
	w.accepted(answered(id, "b", "", "failed"))
	w.accepted(closedClient(id, "c", domain.ClientCallCancelled))
	refused := func(call, output, failure string, code domain.Code) {
		w.Helper()
		w.untouched(id, func() { w.refused(w.commit(answered(id, call, output, failure)).Err, code) })
	}
	check := func() {
		w.Helper()
		head := ok(w.s.Head(w.ctx, id))(w)
		w.untouched(id, func() {
			again := answered(id, "a", "out\xff", "")
			again.AnswerClient.Answer.By = domain.Actor{KeyID: "another"}
			again.Events, again.Audit = said(id, 0, 3).Events, []domain.AuditRecord{record("twice")}
			if diff := cmp.Diff(store.Result{LastSeq: head.LastSeq, Tenant: tenant, Repeated: true}, w.commit(again)); diff != "" {
				w.Error(diff)
			}
			w.accepted(answered(id, "b", "", "failed"))
		})
		refused("a", "out", "", domain.CodeAlreadyAnswered)
		refused("a", "out\xff", "failed", domain.CodeAlreadyAnswered)
		refused("b", "", "", domain.CodeAlreadyAnswered)
		refused("c", "x", "", domain.CodeCallEnded)
		refused("e", "x", "", domain.CodeNotFound)
	}
	check()
	w.accepted(ending(id, 1))
	check()
	refused("d", "x", "", domain.CodeCallEnded)

	other := w.create()
	w.untouched(other, func() { w.refused(w.commit(answered(other, "a", "out\xff", "")).Err, domain.CodeNotFound) })
	w.refused(w.commit(answered(domain.ExecutionID(newID()), "a", "x", "")).Err, domain.CodeStale)
}

// answersInABatch: what is left out as done disturbs nobody.
func answersInABatch(w *world) {
	ids := w.createMany(4)
	var batch []store.Change
	for i, id := range ids {
		w.askedClient(id, "a")
		if i == 1 {
			w.accepted(answered(id, "a", "same", ""))
		}
		batch = append(batch, answered(id, "a", "same", ""))
	}
	batch[2].AnswerClient.ToolCallID = "unknown"
	batch[3] = said(ids[3], 1, 2)
	results := ok(w.s.Commit(w.ctx, batch))(w)
	want := []int64{2, 2, 0, 4}
	for i, result := range results {
		if result.LastSeq != want[i] || (result.Err != nil) != (i == 2) || (result.Tenant == tenant) != (i != 2) || result.Repeated != (i == 1) {
			w.Errorf("%d: %+v", i, result)
		}
	}
	w.refused(results[2].Err, domain.CodeNotFound)
	w.stands(ids[0], domain.ClientCallAnswered)
	w.stands(ids[2], domain.ClientCallWaiting)
}

func clientExpiry(w *world) {
	id := w.create()
	c := said(id, 1, 1)
	for call, ttl := range map[string]time.Duration{"over": -time.Second, "open": time.Hour, "never": 0} {
		c.AskClient = append(c.AskClient, w.clientCall(id, call, ttl))
	}
	w.accepted(c)
	refused := func(c store.Change, code domain.Code) {
		w.Helper()
		w.untouched(id, func() { w.refused(w.commit(c).Err, code) })
	}
	expire := func(call string) store.Change {
		return closedClient(id, call, domain.ClientCallExpired)
	}
	refused(expire("open"), domain.CodeStale)
	refused(expire("never"), domain.CodeStale)
	refused(answered(id, "over", "late", ""), domain.CodeCallEnded)
	w.accepted(expire("over"))
	refused(expire("over"), domain.CodeStale)
	refused(answered(id, "over", "late", ""), domain.CodeCallEnded)
	w.accepted(answered(id, "open", "in time", ""))
	w.accepted(closedClient(id, "never", domain.ClientCallCancelled))

	soon := w.clientCall(id, "soon", 30*time.Millisecond)
	w.accepted(store.Change{Execution: id, Epoch: 1, ClientCalls: store.ClientCalls{AskClient: []domain.ClientCall{soon}}})
	for end := time.Now().Add(20 * time.Second); w.commit(expire("soon")).Err != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatal("a call does not become due")
		}
	}
	if at, err := w.s.Now(w.ctx); err != nil || at.Before(*soon.Expires) {
		w.Errorf("it is %v, %v, and what waits until %v has expired", at, err, soon.Expires)
	}
}

func clientClosing(w *world) {
	id, other := w.create(), w.create()
	w.askedClient(other, "a")
	w.askedClient(id, "a", "b", "c")
	const waiting, answer = domain.ClientCallWaiting, domain.ClientCallAnswered
	const cancelled = domain.ClientCallCancelled
	refused := func(c store.Change) {
		w.Helper()
		w.untouched(id, func() { w.refused(w.commit(c).Err, domain.CodeStale) })
	}
	refused(closedClient(id, "unknown", cancelled))
	w.accepted(answered(id, "a", "x", ""))
	refused(closedClient(id, "a", cancelled))
	both := closedClient(id, "b", cancelled)
	both.CloseClient = append(both.CloseClient, store.ClientClosing{ToolCallID: "a", To: cancelled})
	both.Events = said(id, 1, 2).Events
	refused(both) // as a whole
	both.CloseClient = both.CloseClient[:1]
	w.accepted(both)
	refused(both) // it does not wait any more
	w.stands(id, answer, cancelled, waiting)
	stale := closedClient(id, "c", cancelled)
	stale.Epoch = 2
	refused(stale)
	w.stands(other, waiting)

	for _, broken := range []store.Change{
		closedClient(id, "c", ""), closedClient(id, "c", answer), closedClient(id, "c", waiting),
	} {
		w.untouched(id, func() {
			_, err := w.s.Commit(w.ctx, []store.Change{broken})
			w.refused(err, domain.CodeInternal)
		})
	}
}

// noCallOutlivesItsExecution: what the driver has not closed is cancelled with the end, also where it is asked with it.
func noCallOutlivesItsExecution(w *world) {
	for _, status := range []domain.Status{domain.StatusCompleted, domain.StatusFailed, domain.StatusCancelled, domain.StatusTimedOut} {
		id, neighbour := w.create(), w.create()
		w.askedClient(neighbour, "a")
		w.askedClient(id, "a", "b", "c")
		w.accepted(answered(id, "b", "x", ""))
		w.accepted(became(id, domain.StatusIdle))
		w.stands(id, domain.ClientCallWaiting, domain.ClientCallAnswered, domain.ClientCallWaiting)
		end := became(id, status)
		end.CloseClient = []store.ClientClosing{{ToolCallID: "a", To: domain.ClientCallCancelled}}
		end.AskClient = []domain.ClientCall{w.clientCall(id, "d", time.Hour)}
		w.accepted(end)
		w.stands(id, domain.ClientCallCancelled, domain.ClientCallAnswered, domain.ClientCallCancelled, domain.ClientCallCancelled)
		w.stands(neighbour, domain.ClientCallWaiting)
	}
}

// oneAnswerWins: of those who say something else one wins, and who says the same as the winner is told that it went well.
func oneAnswerWins(w *world) {
	for round := range 5 {
		id := w.create()
		w.askedClient(id, "a")
		different := 32 >> round
		results := w.promptsAtOnce(32, func(i int) store.Change {
			c := answered(id, "a", fmt.Sprint(i%different), "")
			c.Events = said(id, 0, 1).Events // to count the winners by
			return c
		})
		got := w.clientCalls(id, "a")[0]
		if got.State != domain.ClientCallAnswered || got.Answer == nil {
			w.Fatalf("%+v", got)
		}
		for i, result := range results {
			if fmt.Sprint(i%different) == got.Answer.Output {
				w.must(result.Err)
			} else {
				w.refused(result.Err, domain.CodeAlreadyAnswered)
			}
		}
		if n := count(results, func(o store.Result) bool { return o.Err == nil && !o.Repeated }); n != 1 {
			w.Errorf("%d were the first", n)
		}
		if n := len(w.log(id)); n != 3 {
			w.Errorf("%d events, want created, said, and one of an answer", n)
		}
	}
}

// answersAgainstTheClosing: an answer of the last moment counts, and then the driver hears of it; or it is told that it is late.
func answersAgainstTheClosing(w *world) {
	const n = 6
	first := 0
	for round := range 40 {
		id := w.create()
		w.askedClient(id, "a")
		ends := round%2 == 0
		results := w.promptsAtOnce(n, func(i int) store.Change {
			switch {
			case i != round%n:
				return answered(id, "a", "x", "")
			case ends:
				return ending(id, 1)
			}
			return closedClient(id, "a", domain.ClientCallCancelled)
		})
		closing := results[round%n]
		state := w.clientCalls(id, "a")[0].State
		if ends {
			w.must(closing.Err)
		} else if (closing.Err == nil) != (state == domain.ClientCallCancelled) {
			w.Fatalf("round %d: it is %s, the closing got %v", round, state, closing.Err)
		}
		if closing.Err != nil {
			w.refused(closing.Err, domain.CodeStale)
		}
		for i, result := range results {
			switch {
			case i == round%n:
			case state == domain.ClientCallAnswered:
				w.must(result.Err)
			default:
				w.refused(result.Err, domain.CodeCallEnded)
			}
		}
		if state == domain.ClientCallCancelled {
			first++
		}
	}
	w.Logf("the driver was first %d times", first)
}
