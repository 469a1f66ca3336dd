package storetest

import (
	"math"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// plainOrNot: what becomes of a change is the same whether its batch is plain or goes by the steps.
func plainOrNot(w *world) {
	fast, slow := plainResults(w), plainResults(w, store.Change{Execution: w.create(), Notify: true})
	if diff := cmp.Diff(fast, slow); diff != "" {
		w.Error("plain against not: ", diff)
	}
	if first := fast["events"]; first.Err != "" || first.LastSeq != 4 || first.Owner != "one" || first.InFeed != 4 {
		w.Errorf("%+v", first)
	}
}

type plainResult struct {
	LastSeq   int64
	InFeed    int
	Owner     store.ReplicaID
	Tenant    domain.TenantID
	Err       domain.Code
	Head      store.Head
	Execution domain.Execution
	Log       []string
	States    []domain.AnswerState
}

// plainResults commits one change of each kind in one batch, with others.
func plainResults(w *world, others ...store.Change) map[string]plainResult {
	kinds := plainKinds(w)
	var names []string
	var batch []store.Change
	for name, c := range kinds {
		if !c.Plain() {
			w.Errorf("%s: not plain", name)
		}
		names, batch = append(names, name), append(batch, c)
	}
	committed := ok(w.s.Commit(w.ctx, append(batch, others...)))(w)
	inFeed := map[domain.ExecutionID]int{}
	page := ok(w.s.Feed(w.ctx, tenant, store.FeedCursor{}, 1000, math.MaxInt))(w)
	for _, event := range page.Events {
		inFeed[event.Execution]++
	}
	results := map[string]plainResult{}
	for i, name := range names {
		one, id := committed[i], batch[i].Execution
		result := plainResult{LastSeq: one.LastSeq, Owner: one.Owner, Tenant: one.Tenant, InFeed: inFeed[id]}
		if one.Err != nil {
			result.Err = domain.CodeOf(one.Err)
		}
		if head, err := w.s.Head(w.ctx, id); err == nil {
			result.Head = head
			result.Execution, err = w.s.Execution(w.ctx, tenant, id)
			w.must(err)
			for _, event := range w.log(id) {
				result.Log = append(result.Log, string(event.Type)+string(event.Data))
			}
			result.States = w.states(id)
		}
		result.Head.Execution, result.Execution = "", anonymous(result.Execution)
		results[name] = result
	}
	return results
}

// anonymous leaves out what differs from one execution to the next.
func anonymous(e domain.Execution) domain.Execution {
	return domain.Execution{Status: e.Status, Turn: e.Turn, Rounds: e.Rounds, Usage: e.Usage, AgentSession: e.AgentSession, LastSeq: e.LastSeq}
}

func plainKinds(w *world) map[string]store.Change {
	in := int64(7)
	with := func(c store.Change, update store.Update) store.Change {
		c.Update = &update
		return c
	}
	moved, unread := said(w.create(), 1, 1), said(w.create(), 1, 2)
	moved.Progress = true
	unread.Events[1].Data = []byte("\xff")
	ended := w.create()
	w.accepted(ending(ended, 1))
	return map[string]store.Change{
		"nothing":                  said(w.create(), 1, 0),
		"events":                   said(w.create(), 1, 3),
		"many events":              said(w.create(), 1, 20),
		"progress":                 moved,
		"a state":                  stated(said(w.create(), 1, 2), "a"),
		"states":                   stated(said(w.create(), 1, 1), "a", "b", "a"),
		"states of a stale driver": stated(said(w.create(), 2, 1), "a"),
		"not UTF-8":                unread,
		"a status":                 with(said(w.create(), 1, 1), store.Update{Status: domain.StatusStreaming}),
		"only a status":            with(said(w.create(), 1, 0), store.Update{Status: domain.StatusInterrupted}),
		"a turn":                   with(said(w.create(), 1, 2), store.Update{Turn: 2, Usage: &domain.Usage{InputTokens: &in}}),
		"rounds":                   with(said(w.create(), 1, 1), store.Update{Rounds: 3, AgentSession: "<s\x00>"}),
		"another epoch":            with(said(w.create(), 2, 1), store.Update{Turn: 9}),
		"an unknown one":           said(domain.ExecutionID(newID()), 1, 1),
		"one that is ended":        with(said(ended, 1, 2), store.Update{Status: domain.StatusStreaming}),
	}
}
