package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// stores opens a fresh one, by the engine's name.
var stores = map[string]func(testing.TB) *store.Store{
	"SQLite": storetest.SQLite,
	"Postgres": func(tb testing.TB) *store.Store {
		return storetest.Open(tb, store.Config{DatabaseURL: storetest.Postgres(tb)})
	},
}

// BenchmarkAppend is what the log does: one committer with batches of changes of different executions, among 2,000
// others. SIGNOFF_TEST_POSTGRES_FSYNC=on makes Postgres flush as in production; SQLite always does.
func BenchmarkAppend(b *testing.B) {
	for name, open := range stores {
		s := open(b)
		ids := population(b, s, 2000)
		for _, shape := range []struct{ changes, events int }{{1, 1}, {1, 20}, {16, 1}, {64, 1}, {64, 5}, {512, 1}} {
			b.Run(fmt.Sprintf("%s/%d changes of %d events", name, shape.changes, shape.events), func(b *testing.B) {
				at := 0
				for b.Loop() {
					batch := make([]store.Change, shape.changes)
					for i := range batch {
						batch[i] = says(ids[at%len(ids)], 1, shape.events)
						at++
					}
					commit(b, s, batch...)
				}
				b.ReportMetric(float64(b.N*shape.changes*shape.events)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

// BenchmarkAppendAtOnce has sixteen writers with a change each, without a log that would make one batch of them.
func BenchmarkAppendAtOnce(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			ids := make(chan domain.ExecutionID, 1000)
			for _, id := range population(b, s, cap(ids)) {
				ids <- id
			}
			b.SetParallelism(8) // for each of two cores
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				id := <-ids
				for pb.Next() {
					commit(b, s, says(id, 1, 1))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkCreate is the life of an execution without its middle: it is created, and it ends, both with what they bring along.
func BenchmarkCreate(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			for b.Loop() {
				id := domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
				commit(b, s, creates(id))
				commit(b, s, ends(id))
			}
		})
	}
}

// creates is a whole creation: with events and a record for the audit.
func creates(id domain.ExecutionID) store.Change {
	c := says(id, 1, 2)
	c.Create = &store.Creation{Owner: "one", Execution: domain.Execution{
		ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}}
	c.Audit = []domain.AuditRecord{{Action: "execution.create"}}
	return c
}

func ends(id domain.ExecutionID) store.Change {
	c := says(id, 1, 1)
	c.Update = &store.Update{Status: domain.StatusCompleted}
	c.Audit = []domain.AuditRecord{{Action: "execution.end"}}
	return c
}

// BenchmarkReplay reads a log of 10,000 events in pages of 200.
func BenchmarkReplay(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			create(b, s, "x")
			for range 10 {
				commit(b, s, says("x", 1, 1000))
			}
			for b.Loop() {
				for after := int64(0); after < 10_000; after += 200 {
					if page, err := s.Events(b.Context(), "x", after, 200); err != nil || len(page) != 200 {
						b.Fatal(len(page), err)
					}
				}
			}
			b.ReportMetric(float64(b.N*10_000)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkDebug adds raw messages to feeds that are full, so that each change lets old ones go.
func BenchmarkDebug(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			traces := func(id domain.ExecutionID, n int) store.Change {
				return store.Change{Execution: id, Epoch: 1,
					Debug: slices.Repeat([]domain.DebugMessage{{Message: strings.Repeat("x", 500)}}, n)}
			}
			ids := population(b, s, 20)
			for _, id := range ids {
				commit(b, s, traces(id, store.DebugMessages))
			}
			at := 0
			for b.Loop() {
				commit(b, s, traces(ids[at%len(ids)], 5))
				at++
			}
			b.ReportMetric(float64(b.N*5)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

func population(b *testing.B, s *store.Store, n int) []domain.ExecutionID {
	b.Helper()
	ids := make([]domain.ExecutionID, n)
	for i := range ids {
		ids[i] = domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
		create(b, s, ids[i])
	}
	return ids
}
