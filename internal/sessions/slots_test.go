package sessions

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"signoff/internal/domain"
)

// TestNobodyWaitsBehindAnotherOnesHundreds fills the queue of one tenant, and then another one comes.
func TestNobodyWaitsBehindAnotherOnesHundreds(t *testing.T) {
	for _, slots := range []int{1, 4} {
		q := newCommandQueue(slots)
		var order []string
		running := map[string]*slot{}
		request := func(tenant, execution, name string) {
			s := q.request(domain.TenantID(tenant), domain.ExecutionID(execution), func() { order = append(order, name) })
			if running[name] = s; s.isGiven() {
				order = append(order, name)
			}
		}
		for i := range 300 {
			request("many", fmt.Sprint("many", i%3), fmt.Sprint("many", i))
		}
		for i := range 10 {
			request("few", "few", fmt.Sprint("few", i))
		}
		done := 0
		for done < len(order) { // which grows with each slot that is given back
			running[order[done]].release()
			done++
		}
		if len(order) != 310 {
			t.Fatalf("%d slots: %d of 310 had a slot", slots, len(order))
		}
		few := 0
		for _, name := range order[:slots+2*10+2] {
			if name[0] == 'f' {
				few++
			}
		}
		if few != 10 {
			t.Errorf("%d slots: of the tenant with few, %d ran in its turn: %v", slots, few, order[:30])
		}
	}
}

// TestSlotsAreNeverMoreThanThereAreAndNeverLost requests and releases at random.
func TestSlotsAreNeverMoreThanThereAreAndNeverLost(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		q := newCommandQueue(1 + dice.IntN(4))
		var all []*slot
		for range 200 {
			if dice.IntN(2) == 0 || len(all) == 0 {
				id := fmt.Sprint(dice.IntN(5))
				all = append(all, q.request(domain.TenantID(id), domain.ExecutionID(id), func() {}))
			} else {
				i := dice.IntN(len(all))
				all[i].release()
				all[i].release() // once more changes nothing
				all = append(all[:i], all[i+1:]...)
			}
			given := 0
			for _, s := range all {
				if s.isGiven() {
					given++
				}
			}
			if running, waiting := q.counts(); running != given || running+waiting != len(all) || running != min(q.slots, len(all)) {
				t.Fatalf("seed %d: %d run, %d wait, of %d, and %d have a slot", seed, running, waiting, len(all), given)
			}
		}
	}
}
