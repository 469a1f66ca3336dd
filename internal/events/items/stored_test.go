package items

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// failer is a test, or one run of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// rowStore is where a test stores items.
type rowStore struct {
	fold domain.ItemFold
	rows []domain.ItemRow // by place
}

// store takes what a reducer stores, by way of the text that a database would hold.
func (s *rowStore) store(reducer *Reducer) {
	var rows []domain.ItemRow
	s.fold, rows = reducer.Stored()
	for _, row := range rows {
		if row.Place == int64(len(s.rows)) {
			s.rows = append(s.rows, row)
		}
		s.rows[row.Place] = row
	}
}

// resumed goes on behind what is stored.
func (s *rowStore) resumed(t failer, request domain.Request) *Reducer {
	reducer, err := Resume(request, s.fold)
	if err != nil {
		t.Fatal(err)
	}
	return reducer
}

// take restores what an event needs, and takes it.
func (s *rowStore) take(t failer, reducer *Reducer, event domain.Event) {
	step, err := Read(event)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range reducer.Keys(step) {
		needed := slices.DeleteFunc(slices.Clone(s.rows), func(row domain.ItemRow) bool { return row.Key != key })
		if err := reducer.Restore(needed); err != nil {
			t.Fatal(err)
		}
	}
	if err := reducer.Apply(step); err != nil {
		t.Fatal(err)
	}
}

// items are all of them, from the reducer where it knows them.
func (s *rowStore) items(t failer, reducer *Reducer) []Item {
	all := []Item{}
	for place := range reducer.Count() {
		item, known := reducer.Item(place)
		if !known {
			var err error
			if item, err = ReadRow(s.rows[place]); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, item)
	}
	return all
}

// Wherever a fold is stored, and however often, the items are those of the whole log: also of calls that an event changes long after
// they were stored.
func TestTheSameItemsOverStoredOnes(t *testing.T) {
	request := domain.Request{Prompt: "Go.", Messages: []domain.InputMessage{{Role: domain.RoleUser, Content: "Hello."}}}
	rapid.Check(t, func(t *rapid.T) {
		log := randomScript(t).Checked(t)
		reducer, stored := New(request), rowStore{}
		for n, event := range log {
			if n > 0 && rapid.Float64Range(0, 1).Draw(t, "stores") < 0.3 {
				stored.store(reducer)
				reducer = stored.resumed(t, request)
			}
			stored.take(t, reducer, event)
			if rapid.Float64Range(0, 1).Draw(t, "looks") < 0.2 || n == len(log)-1 {
				wanted, err := Reduce(request, log[:n+1])
				if err != nil {
					t.Fatal(err)
				}
				same(t, "items over stored ones", asJSON(t, wanted), asJSON(t, stored.items(t, reducer)))
			}
		}
	})
}

// A text that was cut, and output that a report has covered, go on where they were.
func TestTextsGoOnOverStoredItems(t *testing.T) {
	long := strings.Repeat("x", TextBytes-1)
	log := begun(domain.SourceACP).Add(
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: long},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "é"},
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "bash"},
		domain.ToolCallStarted{ToolCallID: "c"},
		domain.ToolCallUpdated{ToolCallID: "c", Output: "printed "},
		domain.ToolCallReported{ToolCallID: "c", Update: []byte(`{"content":[{"type":"content","content":{"type":"text","text":"said"}}]}`)},
		domain.ToolCallUpdated{ToolCallID: "d", Output: long + "é"},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "after the cut"},
		domain.ToolCallUpdated{ToolCallID: "c", Output: "more"},
		domain.ToolCallUpdated{ToolCallID: "d", Output: "x"},
	).Log
	wanted, err := Reduce(domain.Request{}, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, every := range []int{1, 2, 5} {
		reducer, stored := New(domain.Request{}), rowStore{}
		for n, event := range log {
			if n > 0 && n%every == 0 {
				stored.store(reducer)
				reducer = stored.resumed(t, domain.Request{})
			}
			stored.take(t, reducer, event)
		}
		same(t, "items over stored ones", asJSON(t, wanted), asJSON(t, stored.items(t, reducer)))
	}
}

// Only what has changed is stored again.
func TestRowsOfUnchangedItemsAreNotStoredAgain(t *testing.T) {
	log := begun(domain.SourceInternal).Add(
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "one"},
		domain.MessageDelta{MessageID: "n", Turn: 1, Text: "two"},
	)
	reducer := New(domain.Request{Prompt: "Go."})
	for _, event := range log.Log {
		if err := reducer.Take(event); err != nil {
			t.Fatal(err)
		}
	}
	fold, rows := reducer.Stored()
	if len(rows) != 3 || fold.Items != 3 || fold.Seq != int64(len(log.Log)) || fold.Version != Version {
		t.Fatalf("%d rows of %+v", len(rows), fold)
	}
	next, err := Resume(domain.Request{}, fold)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Restore(rows); err != nil {
		t.Fatal(err)
	}
	log.Add(domain.MessageDelta{MessageID: "n", Turn: 1, Text: "!"})
	if err := next.Take(log.Log[len(log.Log)-1]); err != nil {
		t.Fatal(err)
	}
	fold, rows = next.Stored()
	if fold.Items != 3 || len(rows) != 1 || rows[0].Place != 2 || rows[0].Key != "message:n" {
		t.Errorf("%d items, rows %+v", fold.Items, rows)
	}
}

// A key is indexed, and an index of Postgres has no room for an id of some thousand bytes.
func TestKeysAreBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	reducer := New(domain.Request{})
	for _, event := range begun(domain.SourceACP).Add(
		domain.ToolCallReported{ToolCallID: long, Update: []byte(`{"content":[{"type":"diff","path":"p","newText":"1"}]}`)},
	).Log {
		if err := reducer.Take(event); err != nil {
			t.Fatal(err)
		}
	}
	fold, rows := reducer.Stored()
	next, err := Resume(domain.Request{}, fold)
	if err != nil {
		t.Fatal(err)
	}
	step, err := Read(domain.NewEvent("execution", domain.ToolCallCompleted{ToolCallID: long}))
	if err != nil {
		t.Fatal(err)
	}
	keys := next.Keys(step)
	if len(keys) != 1 || len(keys[0]) > keyBytes || len(rows) != 2 || rows[0].Key != keys[0] || rows[1].Key != keys[0] {
		t.Errorf("keys %q of rows %+v", keys, rows)
	}
}

// A row that somebody has damaged is an error, and never a guess.
func TestDamagedRowsAreRefused(t *testing.T) {
	fold := domain.ItemFold{Version: Version, Seq: 5, Items: 1, State: json.RawMessage(`{}`)}
	for name, state := range map[string]string{
		"no JSON":                  `{`,
		"a call without its state": `{"id":"tool:c","kind":"tool","tool":{"toolCallId":"c"}}`,
		"a kind without a member":  `{"id":"message:m","kind":"message"}`,
		"a kind that is not known": `{"id":"x:m","kind":"x"}`,
		"a call without a change":  `{"id":"tool:c","kind":"tool","tool":{"toolCallId":"c"},"call":{"changes":[{"place":7,"path":"p","nth":1}]}}`,
		"a change without a call":  `{"id":"diff:c:1","kind":"diff","diff":{"toolCallId":"c"}}`,
	} {
		reducer, err := Resume(domain.Request{}, fold)
		if err != nil {
			t.Fatal(err)
		}
		if err := reducer.Restore([]domain.ItemRow{{State: json.RawMessage(state)}}); domain.CodeOf(err) != domain.CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Resume(domain.Request{}, domain.ItemFold{State: json.RawMessage(`[`)}); domain.CodeOf(err) != domain.CodeInternal {
		t.Error(err)
	}
	if _, err := ReadRow(domain.ItemRow{State: json.RawMessage(`[`)}); domain.CodeOf(err) != domain.CodeInternal {
		t.Error(err)
	}
}
