package dispatch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions"
	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// A session takes a place from its admission to its exit, but for the time in which it yields it. Whoever waits for a place hears of each one that
// becomes free while there was none.
func TestPlacesAreTakenYieldedAndFreed(t *testing.T) {
	s := storetest.SQLite(t)
	rapid.Check(t, func(t *rapid.T) {
		m := NewManager(Config{Config: sessions.Config{}, Limits: Limits{Live: 3, LivePerTenant: 2}}, s, events.NewLog(s))
		if err := m.renew(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer m.leases.end(errStopped)
		p := &places{m: m, sessions: map[domain.ExecutionID]*sessions.Session{}, yields: map[domain.ExecutionID]bool{}}
		t.Repeat(map[string]func(*rapid.T){"admit": p.admit, "yield": p.yield, "exit": p.exit, "": p.check})
		for id := range p.sessions {
			m.discard(p.sessions[id])
		}
		if m.placesTaken() != 0 || len(m.tenants) != 0 {
			t.Errorf("when all have ended, %d places are taken, %v", m.placesTaken(), m.tenants)
		}
	})
}

// places is what must come out.
type places struct {
	m        *Manager
	made     int
	sessions map[domain.ExecutionID]*sessions.Session
	yields   map[domain.ExecutionID]bool
}

func (p *places) taken() (all int, of map[domain.TenantID]int) {
	of = map[domain.TenantID]int{}
	for id, s := range p.sessions {
		if !p.yields[id] {
			all++
			of[s.Execution().Tenant]++
		}
	}
	return all, of
}

func (p *places) admit(t *rapid.T) {
	tenant := domain.TenantID(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"))
	wakes := rapid.Bool().Draw(t, "wakes") // an execution that was admitted before needs no room
	epoch := int64(1)
	if wakes {
		epoch = 2
	}
	all, of := p.taken()
	p.m.backlog = 0
	p.made++
	id := domain.ExecutionID(fmt.Sprint(p.made))
	s, err := p.m.admit(domain.Execution{ID: id, Tenant: tenant}, epoch)
	if room := all < p.m.limits.Live && of[tenant] < p.m.limits.LivePerTenant; (err == nil) != (room || wakes) {
		t.Fatalf("with %d places taken, %v: %v", all, of, err)
	}
	if err == nil {
		p.sessions[id] = s
	}
}

func (p *places) yield(t *rapid.T) {
	id := domain.ExecutionID(fmt.Sprint(rapid.IntRange(1, p.made+1).Draw(t, "session"))) // perhaps one that is not here
	yields := rapid.Bool().Draw(t, "yields")
	s, live := p.sessions[id]
	p.frees(t, live && yields && !p.yields[id], s, func() { p.m.Yield(id, yields) })
	if live {
		p.yields[id] = yields
	}
}

func (p *places) exit(t *rapid.T) {
	if len(p.sessions) == 0 {
		t.Skip("nobody is here")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(p.sessions))).Draw(t, "session")
	s := p.sessions[id]
	p.frees(t, !p.yields[id], s, func() { p.m.discard(s) })
	delete(p.sessions, id)
	delete(p.yields, id)
}

// frees does what frees the place of a session, or does not, and looks whether the queue is read.
func (p *places) frees(t *rapid.T, frees bool, s *sessions.Session, do func()) {
	all, of := p.taken()
	p.m.backlog = 0
	select {
	case <-p.m.notification:
	default:
	}
	do()
	heard := len(p.m.notification) > 0
	if want := frees && (all >= p.m.limits.Live || of[s.Execution().Tenant] >= p.m.limits.LivePerTenant); heard != want || (p.m.backlog > 0) != want {
		t.Fatalf("with %d places taken, %v, the queue is read: %v, backlog %d", all, of, heard, p.m.backlog)
	}
}

func (p *places) check(t *rapid.T) {
	all, of := p.taken()
	if p.m.placesTaken() != all || !maps.Equal(p.m.tenants, of) {
		t.Fatalf("%d places are taken, %v; want %d, %v", p.m.placesTaken(), p.m.tenants, all, of)
	}
	free, live := p.m.vacancies()
	if free != max(0, p.m.limits.Live-all) || free > 0 && !maps.Equal(live, of) {
		t.Fatalf("%d are free, %v", free, live)
	}
}
