package main

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFound(t *testing.T) {
	got := found([]float64{5, 1, 4, 2, 3})
	if got.median != 3 || got.spread != 2 || got.least != 1 || got.most != 5 || got.rounds != 5 {
		t.Errorf("%+v", got)
	}
	if got := found([]float64{1, 2}); got.median != 1.5 || got.spread != 0.5 {
		t.Errorf("%+v", got)
	}
	if none := found(nil); !math.IsNaN(none.median) {
		t.Errorf("%+v", none)
	}
	if got := quantile([]int{9, 1, 5}, 0.99); got != 9 {
		t.Error(got)
	}
}

// ratios is a figure whose ratio to the hub is to reach a goal.
func ratios(r row) figure {
	r.key = "x"
	return figure{name: "f", contenders: []string{hub, sqlite}, rows: []row{r}}
}

func TestVerdicts(t *testing.T) {
	more, less := row{more: true, reach: both(0.5)}, row{reach: both(2)}
	plain := row{plain: true, reach: both(100)}
	for name, test := range map[string]struct {
		row           row
		values        []float64 // of the server
		hub           []float64 // 10 each time where nothing is said
		short         bool
		missed, below bool
	}{
		"reached":                                  {row: more, values: []float64{6, 6, 6, 6, 6}},
		"short, within the spread":                 {row: more, values: []float64{4.6, 4, 6, 4.8, 5.2}, below: true},
		"missed":                                   {row: more, values: []float64{4, 4, 4, 4, 4}, missed: true, below: true},
		"less is better":                           {row: less, values: []float64{19, 19, 19, 19, 19}},
		"too much":                                 {row: less, values: []float64{21, 21, 21, 21, 21}, missed: true, below: true},
		"a value, short of its goal":               {row: plain, values: []float64{150, 150, 150, 150, 150}, below: true},
		"a value, more than twice its goal":        {row: plain, values: []float64{201, 201, 201, 201, 201}, missed: true, below: true},
		"the short form sees no small fall":        {row: more, values: []float64{3, 3, 3}, short: true, below: true},
		"the short form holds to what was reached": {row: row{more: true, reach: both(0.5), stand: both(0.2)}, values: []float64{1.5, 1.5, 1.5}, short: true, below: true},
		"and sees a fall by half of that":          {row: row{more: true, reach: both(0.5), stand: both(0.2)}, values: []float64{0.9, 0.9, 0.9}, short: true, missed: true, below: true},
		"the long form holds to the goal":          {row: row{more: true, reach: both(0.5), stand: both(0.2)}, values: []float64{3, 3, 3, 3, 3}, missed: true, below: true},
		"the short form does not judge latencies":  {row: row{reach: both(2), calm: true}, values: []float64{90, 90, 90}, short: true},
		"the short form sees a fall by half":       {row: more, values: []float64{2, 2, 2}, short: true, missed: true, below: true},
		"and looks at its best round":              {row: more, values: []float64{1, 1, 3}, short: true, below: true},
		"which must not have fallen":               {row: more, values: []float64{1, 1, 2.4}, short: true, missed: true, below: true},
		"where less is better, too":                {row: less, values: []float64{90, 90, 39}, short: true, below: true},
		"nor have doubled, where less is better":   {row: less, values: []float64{90, 90, 41}, short: true, missed: true, below: true},
		"a neighbour of the hub hides no fall":     {row: more, values: []float64{2, 2, 2}, hub: []float64{10, 10, 2}, short: true, missed: true, below: true},
		"nor one that makes it slow":               {row: less, values: []float64{90, 90, 90}, hub: []float64{10, 10, 60}, short: true, missed: true, below: true},
		"the long form looks at the middle":        {row: plain, values: []float64{201, 201, 201, 90, 90}, missed: true, below: true},
	} {
		t.Run(name, func(t *testing.T) {
			journal, err := openJournal(filepath.Join(t.TempDir(), "r"), "c", test.short)
			if err != nil {
				t.Fatal(err)
			}
			defer journal.file.Close()
			f := ratios(test.row)
			for round, value := range test.values {
				floor := 10.0
				if test.hub != nil {
					floor = test.hub[round]
				}
				fill(t, journal, f, round, floor, value)
			}
			got := journal.judge([]figure{f})[0]
			if got.missed != test.missed || got.short != test.below {
				t.Errorf("missed %t, short %t: %+v", got.missed, got.short, got)
			}
			var out bytes.Buffer
			if missed := table(&out, []verdict{got}); (missed == 1) != test.missed || strings.Contains(out.String(), "MISSED") != test.missed {
				t.Errorf("%d missed in\n%s", missed, &out)
			}
		})
	}
}

func fill(t *testing.T, j *journal, f figure, round int, ofHub, ofServer float64) {
	t.Helper()
	for contender, value := range map[string]float64{hub: ofHub, sqlite: ofServer} {
		if err := j.add(f, round, contender, sample{"x": value}); err != nil {
			t.Fatal(err)
		}
	}
}

// A measurement of this commit is not repeated. Those of another commit, and of an incomplete round, do not count.
func TestTheJournalGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "results.jsonl")
	f := ratios(row{reach: both(2)})
	journal, err := openJournal(path, "one", false)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, journal, f, 0, 1, 2)
	if err := journal.add(f, 1, hub, sample{"x": 1}); err != nil { // killed in the middle of the round
		t.Fatal(err)
	}
	journal.file.Close()
	again, err := openJournal(path, "one", false)
	if err != nil {
		t.Fatal(err)
	}
	defer again.file.Close()
	if !again.has(f, 0) || again.has(f, 1) {
		t.Errorf("has %t, %t", again.has(f, 0), again.has(f, 1))
	}
	if value, ratio := again.found(f, f.rows[0], sqlite); value.rounds != 1 || ratio.median != 2 {
		t.Errorf("%+v %+v", value, ratio)
	}
	for _, other := range []struct {
		commit string
		short  bool
	}{{"two", false}, {"one", true}} {
		b, err := openJournal(path, other.commit, other.short)
		if err != nil || b.has(f, 0) {
			t.Errorf("%+v: %v", other, err)
		}
		b.file.Close()
	}
}

func TestFiguresAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figures() {
		if seen[f.name] || f.measure == nil || f.about == "" || len(f.rows) == 0 {
			t.Errorf("the figure %q is not whole, or there are two", f.name)
		}
		seen[f.name] = true
	}
	for _, name := range guarded {
		if !seen[name] {
			t.Errorf("the short form guards %q, which there is not", name)
		}
	}
	if _, err := (options{only: "nonsense"}).choose(); err == nil {
		t.Error("a figure that there is not was chosen")
	}
}

// What nobody is judged by costs the short form its time.
func TestTheShortFormKnowsTheAgentsAndNoIdleFloor(t *testing.T) {
	chosen, err := options{short: true}.choose()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range chosen {
		names = append(names, f.name)
		want := []string{hub, postgres, sqlite}
		switch f.name {
		case "waiting": // its goal is in bytes
			want = want[1:]
		case "checkpoints": // no database has them
			want = []string{hub, sqlite}
		}
		if diff := cmp.Diff(want, f.contenders); diff != "" {
			t.Errorf("%s: %s", f.name, diff)
		}
	}
	if !slices.Contains(names, "acp") {
		t.Errorf("the short form has %v", names)
	}
}

// TestRoundsOfTheForms: the short form measures once what no neighbour spoils.
func TestRoundsOfTheForms(t *testing.T) {
	for _, test := range []struct {
		figure      figure
		short, long int
	}{
		{figure{}, shortRounds, usualRounds},
		{figure{rounds: 9}, shortRounds, 9},
		{figure{steady: true}, 1, usualRounds},
	} {
		if short, long := test.figure.roundsOf(true), test.figure.roundsOf(false); short != test.short || long != test.long {
			t.Errorf("%+v: %d rounds in the short form, %d in the long one", test.figure, short, long)
		}
	}
}
