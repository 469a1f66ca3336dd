package storetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// model runs random changes, claims and releases against a few lines that say what must come out.
func model(w *world) {
	rapid.Check(w.T, func(t *rapid.T) {
		m := &modelled{world: w, t: t, heads: map[domain.ExecutionID]*store.Head{}, prompts: map[domain.ExecutionID][]domain.PromptID{},
			alive: map[store.ReplicaID]bool{}, name: newID(), rule: w.written(rule("")).ID, audited: w.auditedSoFar()}
		t.Repeat(map[string]func(*rapid.T){
			"create":    m.create,
			"commit":    m.commitBatch,
			"heartbeat": m.beat,
			"die":       m.die,
			"claim":     m.acquire,
			"release":   m.release,
			"":          m.check,
		})
		for _, id := range m.ids { // or the next run would claim them
			if !m.heads[id].Terminal {
				end := ending(id, m.heads[id].Epoch)
				end.DiscardPrompts = m.prompts[id]
				w.accepted(end)
			}
		}
	})
	w.chain(tenant)
}

type modelled struct {
	*world
	t       *rapid.T
	name    string
	ids     []domain.ExecutionID
	heads   map[domain.ExecutionID]*store.Head
	prompts map[domain.ExecutionID][]domain.PromptID // that wait
	alive   map[store.ReplicaID]bool
	audited int64  // entries
	rule    string // that changes hit
	hits    int64
}

func (m *modelled) replica(t *rapid.T) store.ReplicaID {
	return store.ReplicaID(fmt.Sprint(m.name, "-", rapid.IntRange(0, 2).Draw(t, "replica")))
}

func (m *modelled) create(t *rapid.T) {
	if len(m.ids) == 5 {
		t.Skip("enough")
	}
	id, owner := domain.ExecutionID(newID()), m.replica(t)
	c := creation(id)
	c.Create.Owner = owner
	m.accepted(c)
	m.ids = append(m.ids, id)
	m.heads[id] = &store.Head{Execution: id, LastSeq: 1, Epoch: 1, Owner: owner}
}

func (m *modelled) commitBatch(t *rapid.T) {
	var changes []store.Change
	for _, id := range m.ids {
		if !rapid.Bool().Draw(t, "in") {
			continue
		}
		epoch := max(0, m.heads[id].Epoch+rapid.Int64Range(-1, 1).Draw(t, "epoch"))
		if rapid.Bool().Draw(t, "right") {
			epoch = m.heads[id].Epoch
		}
		c := m.change(t, id, epoch)
		c.Audit = slices.Repeat([]domain.AuditRecord{record("said")}, rapid.IntRange(0, 2).Draw(t, "audit"))
		c.Hits = slices.Repeat([]string{m.rule}, rapid.IntRange(0, 2).Draw(t, "hits"))
		changes = append(changes, c)
	}
	results, err := m.replicas[rapid.IntRange(0, 1).Draw(t, "store")].Commit(m.ctx, changes)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range changes {
		m.settle(t, c, results[i])
	}
}

// change draws one that speaks, takes a prompt in, or ends an execution, with its prompts or over them.
func (m *modelled) change(t *rapid.T, id domain.ExecutionID, epoch int64) store.Change {
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind < 3 && epoch == 0:
		return prompted(id, domain.WhenBusyEnqueue, "")
	case kind == 0 && epoch != 0:
		return ending(id, epoch)
	case kind == 1 && epoch != 0:
		end := ending(id, epoch)
		end.DiscardPrompts = m.prompts[id]
		return end
	}
	return said(id, epoch, rapid.IntRange(0, 4).Draw(t, "events"))
}

func (m *modelled) settle(t *rapid.T, c store.Change, result store.Result) {
	head, waiting := m.heads[c.Execution], m.prompts[c.Execution]
	late := head.Terminal || c.Epoch != 0 && c.Epoch != head.Epoch
	if late || c.Update != nil && len(c.DiscardPrompts) < len(waiting) {
		if domain.CodeOf(result.Err) != domain.CodeStale {
			t.Fatalf("%+v must be refused of %+v with the prompts %v: %v", c, head, waiting, result.Err)
		}
		return
	}
	head.LastSeq += int64(len(c.Events))
	head.Terminal = c.Update != nil
	m.audited += int64(len(c.Audit))
	m.hits += int64(len(c.Hits))
	if c.Epoch == 0 {
		head.ForeignWrites++
	}
	if c.Prompt != nil {
		m.prompts[c.Execution] = append(waiting, c.Prompt.Prompt.ID)
	} else if head.Terminal {
		m.prompts[c.Execution] = nil
	}
	if result.Err != nil || result.LastSeq != head.LastSeq {
		t.Fatalf("%+v: %+v, want %+v", c, result, head)
	}
}

func (m *modelled) beat(t *rapid.T) {
	r := m.replica(t)
	m.must(m.s.Heartbeat(m.ctx, r, time.Hour))
	m.alive[r] = true
}

func (m *modelled) die(t *rapid.T) {
	r := m.replica(t)
	m.must(m.s.Heartbeat(m.ctx, r, -time.Second))
	m.alive[r] = false
}

func (m *modelled) acquire(t *rapid.T) {
	r := m.replica(t)
	claimed, err := m.s.Acquire(m.ctx, r, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, head := range m.heads {
		if m.alive[r] && !head.Terminal && !m.alive[head.Owner] {
			head.Owner = r
			head.Epoch++
			want++
		}
	}
	if len(claimed) != want {
		t.Fatalf("%d claimed, want %d", len(claimed), want)
	}
}

func (m *modelled) release(t *rapid.T) {
	r := m.replica(t)
	m.must(m.s.Release(m.ctx, r))
	m.alive[r] = false
	for _, head := range m.heads {
		if !head.Terminal && head.Owner == r {
			head.Owner = ""
		}
	}
}

func (m *modelled) check(t *rapid.T) {
	got := m.world.heads(m.ids)
	for _, id := range m.ids {
		if got[id] != *m.heads[id] {
			t.Fatalf("%+v, want %+v", got[id], *m.heads[id])
		}
		if waiting := m.waiting(id); !slices.Equal(waiting, m.prompts[id]) {
			t.Fatalf("%v wait, want %v", waiting, m.prompts[id])
		}
		m.log(id)
	}
	if n := m.auditedSoFar(); n != m.audited {
		t.Fatalf("%d entries, want %d", n, m.audited)
	}
	if got := m.world.rule(m.rule); got.Hits != m.hits {
		t.Fatalf("%d hits, want %d", got.Hits, m.hits)
	}
}
