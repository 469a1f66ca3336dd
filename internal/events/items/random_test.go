package items

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// However a log comes, the items are the same: at once, in portions, with events that come again, by looking at all items or at
// those that have changed. And nothing that was handed out changes afterwards.
func TestTheSameItemsInWhateverPortions(t *testing.T) {
	request := domain.Request{Prompt: "Go."}
	rapid.Check(t, func(t *rapid.T) {
		log := randomScript(t).Checked(t)
		atOnce, err := Reduce(request, log)
		if err != nil {
			t.Fatal(err)
		}
		wanted := asJSON(t, atOnce)

		reducer, shown := New(request), client{}
		var handedOut [][]Item
		var were []string
		for n, event := range log {
			for _, again := range rapid.SliceOfN(rapid.IntRange(0, n), 0, 2).Draw(t, "again") {
				if again < n {
					take(t, reducer, log[again])
				}
			}
			take(t, reducer, event)
			take(t, reducer, event)
			if rapid.Bool().Draw(t, "look") {
				shown.apply(reducer.Changed())
				handedOut = append(handedOut, reducer.Items())
				were = append(were, asJSON(t, handedOut[len(handedOut)-1]))
			}
		}
		shown.apply(reducer.Changed())
		same(t, "items of portions", wanted, asJSON(t, reducer.Items()))
		same(t, "changed items put together", wanted, asJSON(t, shown.items))
		for n := range handedOut {
			same(t, "items handed out before", were[n], asJSON(t, handedOut[n]))
		}
		if again := reducer.Changed(); len(again) > 0 {
			t.Errorf("%d items have changed with nothing in between", len(again))
		}
		orderly(t, atOnce)
	})
}

func take(t *rapid.T, reducer *Reducer, event domain.Event) {
	if err := reducer.Take(event); err != nil {
		t.Fatal(err)
	}
}

func same(t failer, what, wanted, got string) {
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// client is a frontend: it puts items in place by their id, and new ones at the end.
type client struct{ items []Item }

func (c *client) apply(changed []Item) {
	for _, i := range changed {
		at := slices.IndexFunc(c.items, func(known Item) bool { return known.ID == i.ID })
		if at < 0 {
			c.items = append(c.items, i)
			continue
		}
		c.items[at] = i
	}
}

// orderly checks what is true of all lists of items.
func orderly(t *rapid.T, all []Item) {
	ids := map[string]bool{}
	for n, i := range all {
		if ids[i.ID] {
			t.Errorf("%s is there twice", i.ID)
		}
		ids[i.ID] = true
		if i.FirstSeq > i.LastSeq || i.CreatedAt.After(i.UpdatedAt) || (n > 0 && i.FirstSeq < all[n-1].FirstSeq) {
			t.Errorf("%s is out of order", i.ID)
		}
	}
}
