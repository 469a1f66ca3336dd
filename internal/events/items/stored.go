package items

import (
	"encoding/json"
	"errors"
	"slices"

	"signoff/internal/domain"
)

// Version is the version of the stored form. Raise it with every change to the items of the same events, or to the stored form: stored items are
// then made again.
const Version = 6

// Resume returns a reducer that continues behind a stored fold. Rows of items are restored when they are needed: see [Reducer.Keys].
func Resume(request domain.Request, fold domain.ItemFold) (*Reducer, error) {
	var state reducerState
	if err := json.Unmarshal(fold.State, &state); err != nil {
		return nil, unreadable(err)
	}
	r := New(request)
	r.resumed, r.event.Seq, r.count = fold.Seq, fold.Seq, fold.Items
	r.external, r.turn, r.stored, r.delegates = state.External, state.Turn, state.Current, state.Delegates
	return r, nil
}

// Restore takes stored items, all that have one key together and in the order of their places. One that is known already stays as it is.
// Rows that do not fit together are an error, after which the reducer is of no use.
func (r *Reducer) Restore(rows []domain.ItemRow) error {
	var calls []*call
	for _, row := range rows {
		if _, known := r.items[row.Place]; known {
			continue
		}
		state, err := readState(row)
		if err != nil {
			return err
		}
		restored := &item{Item: state.Item, place: row.Place}
		if err := r.restore(restored, state); err != nil {
			return err
		}
		if r.items[row.Place] = restored; restored.Tool != nil {
			calls = append(calls, r.calls[restored.Tool.ToolCallID])
		}
	}
	for _, c := range calls {
		if slices.ContainsFunc(c.changes, func(known *change) bool { return known.Diff == nil }) {
			return unreadable(errors.New("a call without one of its changes"))
		}
	}
	return nil
}

func (r *Reducer) restore(i *item, state itemState) error {
	switch i.Kind {
	case KindMessage:
		i.text.restore(i.Message.Text, state.Length, i.Message.Truncated)
		r.messages[i.ID] = i
	case KindReasoning:
		i.text.restore(i.Reasoning.Text, state.Length, i.Reasoning.Truncated)
		r.messages[i.ID] = i
	case KindTool:
		r.calls[i.Tool.ToolCallID] = state.Call.restore(i, state.Length)
	case KindDiff:
		c, known := r.calls[i.Diff.ToolCallID]
		if !known || !c.restoreChange(i) {
			return unreadable(errors.New("a change without its call"))
		}
	case KindBlocks:
		if i.ID == r.stored {
			r.current, r.stored = i, ""
		}
	}
	return nil
}

func (s *callState) restore(i *item, printed int) *call {
	c := &call{item: i, queued: s.Queued, awaits: s.Awaits, lost: s.Lost, outcome: s.Outcome, described: s.Described}
	kept := i.Tool.Output
	if s.Printed != nil {
		kept = *s.Printed
	}
	c.printed.restore(kept, printed, s.Cut)
	for _, known := range s.Changes {
		c.changes = append(c.changes, &change{item: &item{place: known.Place}, key: changeKey{known.Path, known.Nth}, current: known.Current})
	}
	return c
}

// restoreChange takes the item of a change.
func (c *call) restoreChange(i *item) bool {
	at := slices.IndexFunc(c.changes, func(known *change) bool { return known.place == i.place })
	if at >= 0 {
		c.changes[at].item = i
	}
	return at >= 0
}

// Stored returns the fold to store, with the rows of items that are new or have changed since the reducer was made.
func (r *Reducer) Stored() (domain.ItemFold, []domain.ItemRow) {
	state := reducerState{External: r.external, Turn: r.turn, Current: r.stored, Delegates: r.delegates}
	if r.current != nil {
		state.Current = r.current.ID
	}
	var rows []domain.ItemRow
	for i := range r.known() {
		if i.LastSeq > r.resumed {
			rows = append(rows, domain.ItemRow{Place: i.place, Key: i.key(), State: domain.Encode(r.stateOf(i))})
		}
	}
	return domain.ItemFold{Version: Version, Seq: r.LastSeq(), Items: r.count, State: domain.Encode(state)}, rows
}

func (r *Reducer) stateOf(i *item) itemState {
	state := itemState{Item: i.Item, Length: i.text.length}
	if i.Kind == KindTool {
		c := r.calls[i.Tool.ToolCallID]
		state.Length, state.Call = c.printed.length, c.state()
	}
	return state
}

func (c *call) state() *callState {
	s := &callState{Queued: c.queued, Awaits: c.awaits, Lost: c.lost, Outcome: c.outcome, Cut: c.printed.cut, Described: c.described}
	if printed := c.printed.kept.String(); c.outcome == "" && printed != c.Tool.Output {
		s.Printed = &printed
	}
	for _, known := range c.changes {
		s.Changes = append(s.Changes, changeState{Place: known.place, Path: known.key.path, Nth: known.key.place, Current: known.current})
	}
	return s
}

// key returns the key of the row. The changes of a call are restored with the call.
func (i *item) key() string {
	if i.Kind == KindDiff {
		return keyOf(callID(i.Diff.ToolCallID))
	}
	return keyOf(i.ID)
}

// ReadRow returns the item that a row holds.
func ReadRow(row domain.ItemRow) (Item, error) {
	state, err := readState(row)
	return state.Item, err
}

func readState(row domain.ItemRow) (itemState, error) {
	var state itemState
	if err := json.Unmarshal(row.State, &state); err != nil {
		return state, unreadable(err)
	}
	if !state.whole() {
		return state, unreadable(errors.New("an item without the member of its kind"))
	}
	return state, nil
}

func (s itemState) whole() bool {
	switch s.Kind {
	case KindMessage:
		return s.Message != nil
	case KindReasoning:
		return s.Reasoning != nil
	case KindTool:
		return s.Tool != nil && s.Call != nil
	case KindDiff:
		return s.Diff != nil
	case KindBlocks:
		return s.Blocks != nil
	case KindSummary:
		return s.Summary != nil
	case KindChanges:
		return s.Changes != nil
	case KindRollback:
		return s.Rollback != nil
	default:
		return false
	}
}

func unreadable(err error) error {
	return domain.Errorf(domain.CodeInternal, "A stored item cannot be read.").With(err)
}

// reducerState is what a reducer knows beside its items.
type reducerState struct {
	External  bool        `json:"external,omitempty"`
	Turn      int         `json:"turn,omitempty"`
	Current   string      `json:"current,omitempty"` // the id of the newest generation of blocks while it is open
	Delegates []*delegate `json:"delegates,omitempty"`
}

// itemState is an item, and what a reducer knows of it beyond.
type itemState struct {
	Item
	Length int        `json:"length,omitempty"` // of the text in the log, or of the printed output
	Call   *callState `json:"call,omitempty"`
}

type callState struct {
	Queued    bool           `json:"queued,omitempty"`
	Awaits    domain.Awaited `json:"awaits,omitempty"`
	Lost      bool           `json:"lost,omitempty"`
	Outcome   domain.Outcome `json:"fate,omitempty"`    // its name in stored rows
	Printed   *string        `json:"printed,omitempty"` // of a call without an outcome, if its item shows another text
	Cut       bool           `json:"cut,omitempty"`     // what was printed
	Described digest         `json:"described,omitempty"`
	Changes   []changeState  `json:"changes,omitempty"`
}

type changeState struct {
	Place   int64  `json:"place"` // of its item
	Path    string `json:"path"`
	Nth     int    `json:"nth"`
	Current bool   `json:"current,omitempty"`
}
