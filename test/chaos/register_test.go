//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// want is a decision, look a look; both with their times.
func want(value string, call, ret int64, f found, winner string) operation {
	return operation{value: value, call: call, ret: ret, found: f, winner: winner}
}

func look(call, ret int64, f found, winner string) operation {
	return operation{call: call, ret: ret, found: f, winner: winner}
}

func TestExplain(t *testing.T) {
	for name, test := range map[string]struct {
		history []operation
		winner  string
		right   bool
	}{
		"nothing":                      {nil, "", true},
		"one":                          {[]operation{want(approve, 1, 2, accepted, "")}, approve, true},
		"the same twice":               {[]operation{want(approve, 1, 2, accepted, ""), want(approve, 3, 4, accepted, "")}, approve, true},
		"one loses":                    {[]operation{want(approve, 1, 5, accepted, ""), want(deny, 2, 3, conflict, approve)}, approve, true},
		"the loser is answered first":  {[]operation{want(approve, 1, 9, accepted, ""), want(deny, 2, 3, conflict, approve)}, approve, true},
		"the winner's answer is lost":  {[]operation{want(approve, 1, never, lost, ""), want(deny, 5, 6, conflict, approve)}, approve, true},
		"lost and nobody else":         {[]operation{want(approve, 1, never, lost, "")}, "", true},
		"lost, and later it was open":  {[]operation{want(approve, 1, never, lost, ""), look(5, 6, pended, ""), want(deny, 7, 8, accepted, "")}, deny, true},
		"open, then decided":           {[]operation{look(1, 2, pended, ""), want(deny, 3, 4, accepted, ""), look(5, 6, decided, deny)}, deny, true},
		"open while it is decided":     {[]operation{look(1, 9, pended, ""), want(deny, 3, 4, accepted, "")}, deny, true},
		"withdrawn":                    {[]operation{look(1, 2, pended, ""), want(deny, 3, 4, gone, ""), look(5, 6, gone, "")}, "", true},
		"withdrawn, a lost one before": {[]operation{want(approve, 1, never, lost, ""), want(deny, 3, 4, gone, "")}, "", true},

		"two winners":                        {[]operation{want(approve, 1, 2, accepted, ""), want(deny, 3, 4, accepted, "")}, "", false},
		"two winners at once":                {[]operation{want(approve, 1, 9, accepted, ""), want(deny, 1, 9, accepted, "")}, "", false},
		"the wrong winner is named":          {[]operation{want(approve, 1, 2, accepted, ""), want(deny, 3, 4, conflict, edit+"x")}, "", false},
		"a winner that nobody asked for":     {[]operation{want(deny, 3, 4, conflict, approve)}, "", false},
		"a winner that comes later":          {[]operation{want(deny, 1, 2, conflict, approve), want(approve, 3, 4, accepted, "")}, "", false},
		"a lost winner that comes later":     {[]operation{want(deny, 1, 2, conflict, approve), want(approve, 3, never, lost, "")}, "", false},
		"refused what won":                   {[]operation{want(approve, 1, 2, accepted, ""), want(approve, 3, 4, conflict, approve)}, "", false},
		"only refused ones wanted it":        {[]operation{want(approve, 1, 2, conflict, approve)}, "", false},
		"open after it was decided":          {[]operation{want(approve, 1, 2, accepted, ""), look(3, 4, pended, "")}, "", false},
		"decided is seen, then open":         {[]operation{want(approve, 1, 9, accepted, ""), look(2, 3, decided, approve), look(4, 5, pended, "")}, "", false},
		"seen before it was asked for":       {[]operation{look(1, 2, decided, approve), want(approve, 3, 4, accepted, "")}, "", false},
		"decided and gone":                   {[]operation{want(approve, 1, 2, accepted, ""), want(approve, 3, 4, gone, "")}, "", false},
		"a conflict and gone":                {[]operation{want(approve, 1, never, lost, ""), want(deny, 1, 2, conflict, approve), look(3, 4, gone, "")}, "", false},
		"open after it was gone":             {[]operation{want(approve, 1, 2, gone, ""), look(3, 4, pended, "")}, "", false},
		"a conflict that names no winner":    {[]operation{want(approve, 1, 2, accepted, ""), want(deny, 3, 4, conflict, "")}, "", false},
		"another value is seen than the won": {[]operation{want(approve, 1, 2, accepted, ""), look(3, 4, decided, deny)}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			winner, err := explain(test.history)
			if (err == nil) != test.right || err == nil && winner != test.winner {
				t.Errorf("winner %q, %v", winner, err)
			}
			if searched := search(test.history); searched != test.right {
				t.Errorf("the search says %v", searched)
			}
		})
	}
}

// TestExplainIsExact compares explain with a search through all orders, on small histories of every kind.
func TestExplainIsExact(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	values := []string{approve, deny}
	verdicts := map[bool]int{}
	for range 20_000 {
		history := make([]operation, 1+d.IntN(4))
		for i := range history {
			call := int64(d.IntN(6))
			o := operation{call: call, ret: call + 1 + int64(d.IntN(4))}
			switch o.found = []found{lost, accepted, accepted, conflict, gone, pended, decided}[d.IntN(7)]; o.found {
			case lost:
				o.value, o.ret = values[d.IntN(2)], never
			case accepted, gone:
				o.value = values[d.IntN(2)]
			case conflict:
				o.value, o.winner = values[d.IntN(2)], values[d.IntN(2)]
			case decided:
				o.winner = values[d.IntN(2)]
			case pended:
			}
			history[i] = o
		}
		_, err := explain(history)
		if searched := search(history); searched != (err == nil) {
			t.Fatalf("explain says %v, the search %v: %v", err, searched, history)
		}
		verdicts[err == nil]++
	}
	if verdicts[true] < 1000 || verdicts[false] < 1000 {
		t.Errorf("too few of a kind: %v", verdicts)
	}
}

// search tries every order of the operations, with the lost ones left out or not, and with a withdrawal at every place.
func search(history []operation) bool {
	var sure, lostOnes []operation
	for _, o := range history {
		if o.found == lost {
			lostOnes = append(lostOnes, o)
		} else {
			sure = append(sure, o)
		}
	}
	for chosen := range 1 << len(lostOnes) {
		some := slices.Clone(sure)
		for i, o := range lostOnes {
			if chosen>>i&1 == 1 {
				some = append(some, o)
			}
		}
		for withdrawal := -1; withdrawal <= len(some); withdrawal++ {
			if orders(some, nil, withdrawal) {
				return true
			}
		}
	}
	return false
}

func orders(rest, order []operation, withdrawal int) bool {
	if len(rest) == 0 {
		return plays(order, withdrawal)
	}
	for i, o := range rest {
		// Who returned before somebody else was called comes before him.
		first := !slices.ContainsFunc(rest, func(other operation) bool { return other.ret < o.call })
		if first && orders(slices.Delete(slices.Clone(rest), i, i+1), append(slices.Clone(order), o), withdrawal) {
			return true
		}
	}
	return false
}

// plays runs the operations on a real register.
func plays(order []operation, withdrawal int) bool {
	state := ""
	for i, o := range order {
		if i == withdrawal && state == "" {
			state = "withdrawn"
		}
		if o.value != "" && state == "" {
			state = o.value
		}
		says := map[found]bool{
			lost: true, accepted: state == o.value, conflict: state == o.winner && state != o.value,
			gone: state == "withdrawn", pended: state == "", decided: state == o.winner,
		}
		if o.found == gone && o.value != "" && state == o.value || !says[o.found] {
			return false
		}
	}
	return true
}

func TestOperationsAreReadable(t *testing.T) {
	if got := fmt.Sprint(want(approve, 1, 2, conflict, deny)); got != `"approve" conflict "deny" [1, 2] by ` {
		t.Error(got)
	}
}
