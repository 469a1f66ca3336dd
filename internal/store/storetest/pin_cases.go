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

func pin(tool, hash string, at time.Time) domain.MCPPin {
	return domain.MCPPin{
		Tenant: tenant, Server: "<files>", Tool: tool, Hash: hash, Definition: json.RawMessage(`{"name":"<` + "\u2028" + `>"}`), First: at, Last: at, By: someone,
	}
}

// approving is a person's yes that pins.
func approving(id domain.ExecutionID, a domain.ApprovalID, pins ...domain.MCPPin) store.Change {
	c := resolved(id, a, domain.ApprovalApproved, "k")
	c.Pins = pins
	return c
}

func (w *world) pinned(tool string) *domain.MCPPin {
	w.Helper()
	got := ok(w.s.MCPPin(w.ctx, tenant, "<files>", tool))(w)
	return got
}

func pinRoundTrip(w *world) {
	id := w.create()
	first := pin("read", "one", now())
	first.Tenant = "is told by the execution"
	w.accepted(approving(id, w.asked(id, 0), first))
	first.Tenant = tenant
	if diff := cmp.Diff(&first, w.pinned("read")); diff != "" {
		w.Error(diff)
	}
	for _, at := range [][3]string{{"other", "<files>", "read"}, {string(tenant), "files", "read"}, {string(tenant), "<files>", "Read"}} {
		if got := ok(w.s.MCPPin(w.ctx, domain.TenantID(at[0]), at[1], at[2]))(w); got != nil {
			w.Errorf("%v is pinned: %+v", at, got)
		}
	}
	again := pin("read", "two", first.First.Add(time.Hour))
	again.Definition, again.By = nil, domain.Actor{KeyID: "k2", Name: "other"}
	w.accepted(approving(id, w.asked(id, 0), again))
	again.First = first.First
	if diff := cmp.Diff(&again, w.pinned("read")); diff != "" {
		w.Error("a tool keeps the time of its first pin: ", diff)
	}

	gone, open := w.asked(id, 0), w.asked(id, 0)
	w.accepted(resolved(id, gone, domain.ApprovalDenied, "k"))
	w.untouched(id, func() {
		w.refused(w.commit(approving(id, gone, pin("read", "three", now()))).Err, domain.CodeStale)
		for _, broken := range []domain.MCPPin{{Tool: "t", Hash: "h"}, {Server: "s", Hash: "h"}, {Server: "s", Tool: "t"}} {
			_, err := w.s.Commit(w.ctx, []store.Change{approving(id, open, broken)})
			w.refused(err, domain.CodeInternal)
		}
	})
	if got := w.pinned("read"); got.Hash != "two" {
		w.Errorf("a refused decision pins: %+v", got)
	}
}

// pinsOfABatch: of several pins for one tool the last one counts, from the time of the first.
func pinsOfABatch(w *world) {
	ids := w.createMany(3)
	slices.Sort(ids) // the order of a batch
	at := now()
	var changes []store.Change
	for i, id := range ids {
		changes = append(changes, approving(id, w.asked(id, 0), pin("read", fmt.Sprint(i), at.Add(time.Duration(i)*time.Second)), pin(fmt.Sprint("own", i), "h", at)))
	}
	for _, result := range ok(w.s.Commit(w.ctx, changes))(w) {
		w.must(result.Err)
	}
	if got := w.pinned("read"); got.Hash != "2" || !got.First.Equal(at) || !got.Last.Equal(at.Add(2*time.Second)) {
		w.Errorf("%+v", got)
	}
	for i := range ids {
		if got := w.pinned(fmt.Sprint("own", i)); got == nil {
			w.Errorf("the pin of change %d is missing", i)
		}
	}
}

// pinsAtOnce: replicas decide one approval, and approve the same tools in opposite orders beside rules. The pin is that of whoever decided.
func pinsAtOnce(w *world) {
	const deciders, rounds = 8, 5
	for round := range rounds {
		id := w.create()
		a, tool := w.asked(id, 0), fmt.Sprint("decided", round)
		results := atOnce(deciders, func(i int) store.Result {
			c := resolved(id, a, domain.ApprovalDenied, fmt.Sprint(i))
			if i%2 == 0 {
				c = resolved(id, a, domain.ApprovalApproved, fmt.Sprint(i))
				c.Pins = []domain.MCPPin{pin(tool, fmt.Sprint(i), now())}
			}
			results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{c})
			if err != nil {
				w.Error(err)
				return store.Result{}
			}
			return results[0]
		})
		winner := slices.IndexFunc(results, func(r store.Result) bool { return r.Err == nil })
		switch got := w.pinned(tool); {
		case winner%2 == 0 && (got == nil || got.Hash != fmt.Sprint(winner)):
			w.Errorf("%d approved, and the pin is %+v", winner, got)
		case winner%2 == 1 && got != nil:
			w.Errorf("%d denied, and the pin is %+v", winner, got)
		}
	}

	ids := w.createMany(deciders)
	asked := make([][]domain.ApprovalID, deciders)
	for i, id := range ids {
		for range rounds {
			asked[i] = append(asked[i], w.asked(id, 0))
		}
	}
	for _, err := range atOnce(deciders, func(i int) error {
		for round := range rounds {
			var pins []domain.MCPPin
			for n := range 6 {
				pins = append(pins, pin(fmt.Sprint("tool", n), fmt.Sprint(i, "/", round), now()))
			}
			if i%2 == 1 {
				slices.Reverse(pins)
			}
			c := approving(ids[i], asked[i][round], pins...)
			remembered := rule("")
			remembered.Approval = asked[i][round]
			c.Remember = []domain.PermissionRule{remembered}
			results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{c})
			if err == nil {
				err = results[0].Err
			}
			if err != nil {
				return err
			}
		}
		return nil
	}) {
		w.must(err)
	}
	last := w.pinned("tool0")
	for n := range 6 { // each change writes all of them, so they come from one
		if got := w.pinned(fmt.Sprint("tool", n)); got == nil || got.Hash != last.Hash || got.First.After(got.Last) {
			w.Errorf("tool%d: %+v, tool0: %+v", n, got, last)
		}
	}
}
