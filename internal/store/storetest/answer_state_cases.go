package storetest

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// opaque is nothing that an engine could read: a vendor may sign any bytes.
const opaque = "{ \"a\" : \"<\u2028\x00\xff\" }"

// stated adds states to a change. Of two states of one answer, the first stands.
func stated(c store.Change, messages ...string) store.Change {
	for i, message := range messages {
		c.States = append(c.States, domain.AnswerState{MessageID: message, State: []byte(opaque + strings.Repeat("+", i))})
	}
	return c
}

func (w *world) states(id domain.ExecutionID) []domain.AnswerState {
	w.Helper()
	states := ok(w.replicas[1].AnswerStates(w.ctx, id))(w)
	slices.SortFunc(states, func(a, b domain.AnswerState) int { return strings.Compare(a.MessageID, b.MessageID) })
	return states
}

func answerStates(w *world) {
	id, neighbour := w.create(), w.create()
	w.accepted(stated(said(neighbour, 1, 1), "a"))
	w.accepted(stated(said(id, 1, 1), "a", "b"))
	later := stated(said(id, 1, 1), "c", "b")
	later.Debug = traced(id, 1, "x").Debug // so that it is not plain
	w.accepted(later)
	w.accepted(stated(said(id, 1, 1), "d", "a"))
	want := []domain.AnswerState{
		{MessageID: "a", State: []byte(opaque)}, {MessageID: "b", State: []byte(opaque + "+")},
		{MessageID: "c", State: []byte(opaque)}, {MessageID: "d", State: []byte(opaque)},
	}
	if diff := cmp.Diff(want, w.states(id)); diff != "" {
		w.Error(diff)
	}

	large := strings.Repeat("x", 1<<20)
	w.accepted(store.Change{Execution: neighbour, Epoch: 1, States: []domain.AnswerState{{MessageID: "z", State: []byte(large)}}})
	if states := w.states(neighbour); len(states) != 2 || string(states[1].State) != large {
		w.Errorf("%d states, the last of %d bytes", len(states), len(states[len(states)-1].State))
	}

	w.refused(w.commit(stated(said(id, 2, 1), "e")).Err, domain.CodeStale)
	if _, err := w.s.Commit(w.ctx, []store.Change{stated(said(id, 0, 1), "e")}); err == nil {
		w.Error("somebody who does not drive it has written a state")
	}
	if got := len(w.states(id)); got != len(want) {
		w.Errorf("%d states after refusals", got)
	}
}
