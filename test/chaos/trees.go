//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// trees is kill -9 of two replicas at random moments while trees of executions are at work: agents delegate to several agents at once or one after the other,
// wait for them or not, and send them further prompts; each command asks a person.
func trees(r *run) {
	ledger := &modelLedger{requests: map[string][][]message{}}
	w := newWorld(r, setup{name: "postgres", postgres: true, replicas: 2, live: 12, script: ledger.play, plan: func(key string, d *dice) plan {
		grown := growTask(key, 0, d)
		return plan{Key: key, Tree: &grown}
	}})
	defer w.close()
	grown := w.growAll()
	d := r.dice.own()
	for over := false; !over; {
		r.sleep(d.between(0, 1500*time.Millisecond))
		victim := w.any(d)
		r.must(victim.kill())
		r.count("kills", 1)
		r.logf("%s is dead", victim.name)
		r.sleep(d.between(0, 300*time.Millisecond))
		r.took("restart to ready", victim.start())
		if d.below(4) > 0 { // or it dies again while it recovers
			w.load.awaitProgress()
		}
		select {
		case <-grown:
			over = true
		default:
		}
	}
	w.load.settle(comeBack)
	w.check()
	w.checkTrees(ledger)
}

// growAll runs one tree for each cycle, some at a time. The channel is closed when all have ended.
func (w *world) growAll() <-chan struct{} {
	r, left, all := w.run, make(chan struct{}, w.run.cycles), make(chan struct{})
	for range r.cycles {
		left <- struct{}{}
	}
	close(left)
	var lanes sync.WaitGroup
	for range w.load.size {
		d := r.dice.own()
		lanes.Add(1)
		w.load.slots.Go(func() {
			defer lanes.Done()
			for range left {
				if w.load.ctx.Err() != nil {
					return
				}
				w.load.one(d)
				r.cycled()
			}
		})
	}
	go func() {
		lanes.Wait()
		close(all)
	}()
	return all
}

// followDelegation reads the tasks that a parent delegates from its events, and follows the children.
func (t *track) followDelegation(e event) {
	switch domain.EventType(e.Type) {
	case domain.ToolCallRequestedType:
		var call callEvent
		var wanted domain.DelegateArguments
		if e.Into(&call) != nil || call.Tool != domain.DelegateTool || json.Unmarshal(call.Arguments, &wanted) != nil {
			return
		}
		if its, found := readTask(wanted.Prompt); found {
			if t.tasks == nil {
				t.tasks = map[string]task{}
			}
			t.tasks[call.ToolCallID] = its
		}
	case domain.DelegateStartedType:
		var started domain.DelegateStarted
		if err := e.Into(&started); err != nil {
			t.load.w.run.violate("%s: event %d of %s: %v", t.load.w.name, e.Seq, t.id, err)
			return
		}
		t.adopt(string(started.ExecutionID), t.tasks[started.ToolCallID])
	}
}

// modelLedger is the ledger of the model: the requests that it got, by the keys of the tasks. Only the model writes it.
type modelLedger struct {
	mu       sync.Mutex
	requests map[string][][]message
}

func (b *modelLedger) play(a *harness.Answer, conversation []message) {
	its, _ := newestTask(conversation)
	b.mu.Lock()
	b.requests[its.Key] = append(b.requests[its.Key], slices.DeleteFunc(slices.Clone(conversation), func(m message) bool { return m.Role == "system" }))
	b.mu.Unlock()
	playTask(a, conversation)
}

// checkTrees compares each tree with its task and the ledger of the model.
func (w *world) checkTrees(b *modelLedger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unknown := maps.Clone(b.requests)
	for _, t := range w.load.all() {
		delete(unknown, t.plan.Key)
		if t.above != nil || t.id == "" {
			continue
		}
		f := treeCheck{task: *t.plan.Tree, requests: b.requests}
		var err error
		if f.members, err = w.members(t); err != nil {
			w.run.violate("%s: I2: the tree of %s: %v", w.name, t.id, err)
			continue
		}
		w.run.checks.Add(int64(len(f.members)))
		w.run.count("delegated", len(f.members)-1)
		for _, text := range f.broken() {
			w.run.violate("%s: %s (%s): %s", w.name, t.plan.Key, t.id, text)
		}
	}
	requests := 0
	for _, all := range b.requests {
		requests += len(all)
	}
	w.run.count("requests to the model", requests)
	w.run.expect(len(unknown) == 0, "%s: the model was asked for %q, and nobody has seen these executions", w.name, slices.Sorted(maps.Keys(unknown)))
}

// members are the executions of a tree as the server shows them, each with the log and the key of the track that has followed it.
func (w *world) members(root *track) (all []treeMember, err error) {
	a := w.insist(w.run.ctx, &w.run.dice, http.MethodGet, "/executions/"+root.id+"/tree", nil)
	var tree struct{ Items []treeMember }
	if err := a.into(&tree); a.status != http.StatusOK || err != nil {
		return nil, fmt.Errorf("%s", a)
	}
	for i := range tree.Items {
		for _, t := range w.load.all() {
			if t.id == tree.Items[i].ID {
				tree.Items[i].key, tree.Items[i].log = t.plan.Key, t.log
			}
		}
	}
	return tree.Items, nil
}
