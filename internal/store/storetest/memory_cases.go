package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// noted replaces the notes of the runbook.
func noted(revision int64, content string) store.MemorySave {
	return store.MemorySave{Scope: runbook, Revision: revision, Content: content, By: someone, Record: record("memory.saved")}
}

func save(w *world, s *store.Store, revision int64, content string) (domain.Memory, error) {
	return s.SaveMemory(w.ctx, tenant, noted(revision, content))
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
		untold, elsewhere := noted(4, "x"), noted(1, "x")
		untold.Record, elsewhere.Scope = domain.AuditRecord{}, domain.GlobalMemory
		_, err = w.s.SaveMemory(w.ctx, tenant, untold)
		w.refused(err, domain.CodeInternal)
		_, err = w.s.SaveMemory(w.ctx, tenant, elsewhere)
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
		got := ok(w.s.Memory(w.ctx, tenant, runbook))(w)
		if got.Revision != revision+1 || got.Content != fmt.Sprint(winner) {
			w.Errorf("%d won, stored is %+v", winner, got)
		}
	}
	if n := len(w.chain(tenant)); n != 8 {
		w.Errorf("%d entries for 8 revisions", n)
	}
}

// memoryIsFenced: who lost the lease, and does not know yet, writes nothing into what its successor has read.
func memoryIsFenced(w *world) {
	by := func(id domain.ExecutionID, epoch, revision int64) store.MemorySave {
		s := noted(revision, fmt.Sprint("under ", epoch))
		s.Execution, s.Epoch = id, epoch
		return s
	}
	saved := func(s store.MemorySave) {
		w.Helper()
		_ = ok(w.s.SaveMemory(w.ctx, tenant, s))(w)
	}
	id := w.create()
	saved(by(id, 1, 0))
	w.heartbeat("two")
	claimed := ok(w.s.Acquire(w.ctx, "two", 1))(w)
	if len(claimed) != 1 || claimed[0].Epoch != 2 {
		w.Fatalf("%+v", claimed)
	}
	w.unaudited(func() {
		for name, late := range map[string]store.MemorySave{
			"the driver before":   by(id, 1, 1),
			"a driver to come":    by(id, 3, 1),
			"nobody who drives":   by(id, 0, 1),
			"an unknown one":      by(domain.ExecutionID(newID()), 2, 1),
			"the first, in a new": {Scope: domain.GlobalMemory, Content: "x", Execution: id, Epoch: 1, Record: record("memory.saved")},
		} {
			if _, err := w.s.SaveMemory(w.ctx, tenant, late); domain.CodeOf(err) != domain.CodeStale {
				w.Errorf("%s: %v", name, err)
			}
		}
		_, err := w.s.SaveMemory(w.ctx, "other", by(id, 2, 0))
		w.refused(err, domain.CodeStale)
		_, err = w.s.SaveMemory(w.ctx, tenant, by(id, 2, 0))
		w.refused(err, domain.CodeConflict) // it drives, and has not read
	})
	saved(by(id, 2, 1))
	w.accepted(ending(id, 2))
	w.unaudited(func() {
		_, err := w.s.SaveMemory(w.ctx, tenant, by(id, 2, 2))
		w.refused(err, domain.CodeStale)
	})
	got := ok(w.s.Memory(w.ctx, tenant, runbook))(w)
	if got.Revision != 2 || got.Content != "under 2" {
		w.Errorf("%+v", got)
	}
}

// memoryUnderClaim: a save and the claim that robs its driver come one after the other. Whoever has read the notes under
// the new epoch has read all that was written under the old one.
func memoryUnderClaim(w *world) {
	w.heartbeat("two")
	for range 20 {
		id := w.create()
		scope := domain.RunbookMemory(string(id))
		late := atOnce(2, func(i int) bool {
			if i == 0 {
				_, err := w.replicas[0].SaveMemory(w.ctx, tenant, store.MemorySave{
					Scope: scope, Content: "late", Record: record("memory.saved"), Execution: id, Epoch: 1,
				})
				if err != nil && domain.CodeOf(err) != domain.CodeStale {
					w.Error(err)
				}
				return err == nil
			}
			var claimed []store.Acquired
			var err error
			for err == nil && len(claimed) == 0 { // a claim passes over a head that the save holds
				claimed, err = w.replicas[1].Acquire(w.ctx, "two", 1)
			}
			notes, failed := w.replicas[1].Memory(w.ctx, tenant, scope)
			if err = errors.Join(err, failed); err != nil {
				w.Error(err)
			}
			return notes.Revision == 1
		})
		if late[0] != late[1] {
			w.Fatalf("saved: %v, read by the successor: %v", late[0], late[1])
		}
	}
}
