//go:build linux

package main

import "testing"

func TestTakeOversForHiccups(t *testing.T) {
	// Each letter is a try: c is clean, t has take-overs, l was too long.
	for tries, want := range map[string]struct {
		with       int
		conclusive bool
	}{
		"c": {0, true}, "tcc": {0, true}, "tt": {2, true}, "tct": {2, true},
		"lllllc": {0, true}, "llllll": {0, false}, "lltllct": {2, true}, "tlllllt": {2, true},
		"tllllll": {1, false}, "tcllllll": {1, false},
	} {
		made := 0
		with, conclusive := judge(func() (takeOvers, tooLong bool) {
			made++
			return tries[made-1] == 't', tries[made-1] == 'l'
		})
		if with != want.with || conclusive != want.conclusive {
			t.Errorf("%s: %d, %v", tries, with, conclusive)
		}
	}
}
