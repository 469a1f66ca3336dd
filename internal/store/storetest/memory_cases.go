package storetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// save replaces the notes of the runbook.
func save(w *world, s *store.Store, revision int64, content string) (domain.Memory, error) {
	return s.SaveMemory(w.ctx, tenant, runbook, revision, content, someone, told("memory.saved"))
}

var runbook = domain.RunbookMemory("r")

func memoryRoundTrip(w *world) {
	read := func(scope domain.MemoryScope, want domain.Memory) {
		w.Helper()
		got, err := w.s.Memory(w.ctx, tenant, scope)
		w.must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	}
	read(runbook, domain.Memory{Scope: runbook})
	for i, content := range []string{"# <Notes>\n\u2028", "", "a\x00b\xff", strings.Repeat("x", domain.MaxMemoryBytes)} {
		saved, err := save(w, w.s, int64(i), content)
		w.must(err)
		if content == "a\x00b\xff" {
			content = "a\uFFFDb\uFFFD"
		}
		if saved.Content != content || saved.Revision != int64(i)+1 || saved.By != someone || saved.Scope != runbook || saved.Updated.IsZero() {
			w.Errorf("saved %+v", saved)
		}
		read(runbook, saved)
	}
	read(domain.GlobalMemory, domain.Memory{Scope: domain.GlobalMemory})
	if n := len(w.chain(tenant)); n != 4 {
		w.Errorf("%d entries for 4 revisions", n)
	}

	before, err := w.s.Memory(w.ctx, tenant, runbook)
	w.must(err)
	w.unaudited(func() {
		for _, revision := range []int64{0, 3, 5, -1} {
			_, err := save(w, w.s, revision, "late")
			w.refused(err, domain.CodeConflict)
		}
		for _, long := range []string{strings.Repeat("x", domain.MaxMemoryBytes+1), strings.Repeat("\x00", domain.MaxMemoryBytes)} {
			_, err = save(w, w.s, 4, long)
			w.refused(err, domain.CodeInvalid)
		}
		_, err = w.s.SaveMemory(w.ctx, tenant, runbook, 4, "x", someone, domain.AuditRecord{})
		w.refused(err, domain.CodeInternal)
		_, err = w.s.SaveMemory(w.ctx, tenant, domain.GlobalMemory, 1, "x", someone, told("memory.saved"))
		w.refused(err, domain.CodeConflict)
	})
	read(runbook, before)
	read(domain.GlobalMemory, domain.Memory{Scope: domain.GlobalMemory})
}

// memoryAtOnce: of those who have read the same revision one writes the next.
func memoryAtOnce(w *world) {
	for revision := range int64(8) {
		errs := atOnce(10, func(i int) error {
			_, err := save(w, w.replicas[i%2], revision, fmt.Sprint(i))
			return err
		})
		winner := -1
		for i, err := range errs {
			if err == nil {
				if winner >= 0 {
					w.Errorf("both %d and %d wrote revision %d", winner, i, revision+1)
				}
				winner = i
				continue
			}
			w.refused(err, domain.CodeConflict)
		}
		got, err := w.s.Memory(w.ctx, tenant, runbook)
		w.must(err)
		if got.Revision != revision+1 || got.Content != fmt.Sprint(winner) {
			w.Errorf("%d won, stored is %+v", winner, got)
		}
	}
	if n := len(w.chain(tenant)); n != 8 {
		w.Errorf("%d entries for 8 revisions", n)
	}
}
