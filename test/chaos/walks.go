//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
	"signoff/test/harness"
)

// walks are clients beside the load, each of which goes one way through the API again and again: prompts, answers of client tools,
// generated blocks, what is cancelled, closed, deleted, resumed. They insist as the load does, and hold each log against the
// oracle in the end.
type walks struct {
	w      *world
	ctx    context.Context
	cancel context.CancelFunc
	enough atomic.Bool
	all    sync.WaitGroup

	mu   sync.Mutex
	made map[string]bool // executions that were not deleted
}

// walker is one client on its way.
type walker struct {
	*walks
	dice *dice
	key  string
	id   string
}

// ways are the clients' ways through the API; the first value is the request that creates.
var ways = map[string]struct {
	body object
	walk func(k *walker)
}{
	"write":  {object{"scenario": "write"}, func(k *walker) { k.approveAll(nil) }},
	"twice":  {object{"scenario": "twice"}, func(k *walker) { k.approveAll("execution") }},
	"late":   {object{"scenario": "late", "approvalTimeoutSeconds": 1}, (*walker).end},
	"close":  {object{"scenario": "talk", "keepOpen": true}, (*walker).promptAndClose},
	"cancel": {object{"scenario": "late"}, (*walker).cancelAndDelete},
	"client": {object{"scenario": "client", "clientTools": []object{{
		"name": "ring_bell", "description": "Rings the bell.", "class": "none", "schema": object{"type": "object"},
	}}}, (*walker).answerAll},
	"back":   {object{"scenario": "write", "checkpoints": "bestEffort"}, (*walker).takeBack},
	"tree":   {harness.With(mayDelegate, object{"scenario": "tree"}), (*walker).approveTree},
	"accept": {blocksWanted, (*walker).acceptBlocks},
	"drop":   {blocksWanted, (*walker).dropBlocks},
	// Its call runs for longer than a server lives, so that each death leaves an agent behind in the middle of one.
	"call": {agentPlays("say one", "stderr aside", "call c1 kind=execute status=in_progress", "silence 30000", "update c1 completed", "say two"),
		(*walker).resumeAgent},
	"text": {agentPlays("say one", "silence 3000", "say two"), (*walker).resumeAgent},
}

var blocksWanted = object{"scenario": "blocks", "kind": "inlineBlockGeneration", "insertAfter": "b1",
	"document": object{"revision": "1", "blocks": []object{{"id": "b1", "type": "paragraph"}}}, "blockTypes": []object{{"type": "paragraph"}}}

// agentPlays is an execution of an external agent. One whose server dies in a call is interrupted; in its text it is continued.
func agentPlays(steps ...string) object {
	return object{"source": object{"type": "acp", "command": "scripted"}, "keepOpen": true, "prompt": acptest.Prompt(steps...)}
}

// walkAll begins all ways side by side.
func (w *world) walkAll() *walks {
	v := &walks{w: w, made: map[string]bool{}}
	v.ctx, v.cancel = context.WithCancel(w.run.ctx)
	for name := range ways {
		d := w.run.dice.own()
		v.all.Go(func() {
			for n := 0; !v.enough.Load() && v.ctx.Err() == nil; n++ {
				v.walk(name, n, d)
			}
		})
	}
	return v
}

// settle lets every walker come to the end of its way, and checks the logs.
func (v *walks) settle(patience time.Duration) {
	v.enough.Store(true)
	late := time.AfterFunc(patience, v.cancel)
	v.all.Wait()
	late.Stop()
	defer v.cancel()
	for id := range v.made {
		log, err := v.w.log(v.w.run.ctx, &v.w.run.dice, id)
		if err != nil {
			v.w.run.violate("%s: I2: %v", v.w.name, err)
			continue
		}
		v.w.run.checks.Add(int64(len(log)))
		for _, text := range append(history{log: log, seen: log}.stream(), eventstest.BrokenReceived(harness.Domain(log))...) {
			v.w.run.violate("%s: %s: %s", v.w.name, id, text)
		}
	}
}

// abandon gives up, for a world that ends early.
func (v *walks) abandon() {
	v.enough.Store(true)
	v.cancel()
	v.all.Wait()
}

func (v *walks) walk(name string, n int, d *dice) {
	k := &walker{walks: v, dice: d, key: fmt.Sprintf("%s-%s-%d", v.w.name, name, n)}
	body := object{"source": object{"type": "internal"}, "metadata": object{"key": k.key}}
	for field, value := range ways[name].body {
		if field == "scenario" {
			field, value = "prompt", fmt.Sprintf("scenario %s %s", value, k.key)
		}
		body[field] = value
	}
	a := k.post("/executions", body)
	var created struct{ ID string }
	if a.status != http.StatusCreated || a.into(&created) != nil {
		if v.ctx.Err() == nil {
			v.w.run.violate("%s: create %s: %s", v.w.name, k.key, a)
		}
		return
	}
	k.id = created.ID
	v.mu.Lock()
	v.made[k.id] = true
	v.mu.Unlock()
	ways[name].walk(k)
	k.w.run.operation(v.ctx.Err() == nil)
}

// post insists, with a key that makes a repetition harmless.
func (k *walker) post(path string, body any) answer {
	return k.w.insist(k.ctx, k.dice, http.MethodPost, path, body, "Idempotency-Key", k.key+strings.ReplaceAll(path, "/", "-"))
}

func (k *walker) own(path string) string { return "/executions/" + k.id + path }

// shown is an execution, as far as walkers look at it.
type shown struct {
	Status           domain.Status
	Turn             int
	PendingApprovals []struct{ ID, Kind string }
	PendingToolCalls []struct{ ToolCallID string }
	Generation       *struct {
		Number int
		State  string
	}
}

// until looks at the execution again and again, until do is content or the execution has ended.
func (k *walker) until(do func(e shown) bool) {
	for k.ctx.Err() == nil {
		a := k.w.insist(k.ctx, k.dice, http.MethodGet, k.own(""), nil)
		var e shown
		if a.status != http.StatusOK || a.into(&e) != nil {
			if k.ctx.Err() == nil {
				k.w.run.violate("%s: %s (%s): %s", k.w.name, k.key, k.id, a)
			}
			return
		}
		if e.Status.Terminal() || do(e) {
			return
		}
		rest(k.ctx, 100*time.Millisecond)
	}
}

// end waits for the end. Approvals expire meanwhile, that of an unknown outcome, too.
func (k *walker) end() { k.until(func(shown) bool { return false }) }

// decide answers everything that is asked. Another decision may have won, or none was possible any more.
func (k *walker) decide(e shown, remember any) {
	for _, asked := range e.PendingApprovals {
		decision := object{"decision": "approve"} // unseen, which the first token may
		switch {
		case asked.Kind == "unknownOutcome":
			decision = object{"resolution": []string{"succeeded", "failed", "retry"}[k.dice.below(3)]}
		case remember != nil:
			decision["remember"] = remember
		}
		a := k.w.insist(k.ctx, k.dice, http.MethodPost, "/approvals/"+asked.ID, decision)
		k.expected(a, "deciding", http.StatusOK, http.StatusConflict, http.StatusGone)
	}
}

// expected is a violation where an answer is none of these.
func (k *walker) expected(a answer, doing string, statuses ...int) {
	for _, status := range statuses {
		if a.status == status {
			return
		}
	}
	if k.ctx.Err() == nil {
		k.w.run.violate("%s: %s (%s): %s: %s", k.w.name, k.key, k.id, doing, a)
	}
}

func (k *walker) approveAll(remember any) {
	k.until(func(e shown) bool {
		k.decide(e, remember)
		return false
	})
}

// member is an execution of a tree.
type member struct {
	ID string
	shown
}

// approveTree approves all questions of the tree. In the end there is one child for each call, and all have completed.
func (k *walker) approveTree() {
	k.until(func(shown) bool {
		for _, m := range k.members() {
			k.decide(m.shown, nil)
		}
		return false
	})
	var all []member
	for k.ctx.Err() == nil {
		if all = k.members(); !slices.ContainsFunc(all, func(m member) bool { return !m.Status.Terminal() }) {
			break
		}
		rest(k.ctx, 100*time.Millisecond) // the children end after their root
	}
	if k.ctx.Err() != nil {
		return
	}
	k.w.run.expect(len(all) == 3, "%s: %s (%s) has %d executions in its tree", k.w.name, k.key, k.id, len(all))
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range all {
		k.made[m.ID] = true
		k.w.run.expect(m.Status == domain.StatusCompleted, "%s: %s (%s) ended as %s", k.w.name, k.key, m.ID, m.Status)
	}
}

func (k *walker) members() []member {
	a := k.w.insist(k.ctx, k.dice, http.MethodGet, k.own("/tree"), nil)
	var tree struct{ Items []member }
	if (a.status != http.StatusOK || a.into(&tree) != nil) && k.ctx.Err() == nil {
		k.w.run.violate("%s: %s (%s): %s", k.w.name, k.key, k.id, a)
	}
	return tree.Items
}

// promptAndClose sends two prompts while a turn runs, and closes when all three are over.
func (k *walker) promptAndClose() {
	k.expected(k.post(k.own("/prompts"), object{"prompt": "scenario talk " + k.key + "-2"}), "prompting", http.StatusAccepted, http.StatusConflict)
	k.key += "-b"
	k.expected(k.post(k.own("/prompts"), object{"prompt": "scenario talk " + k.key}), "prompting", http.StatusAccepted, http.StatusConflict)
	k.until(func(e shown) bool { return e.Status == domain.StatusIdle && e.Turn >= 3 })
	k.close()
}

func (k *walker) close() {
	k.until(func(e shown) bool {
		if e.Status != domain.StatusIdle {
			return false
		}
		a := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/close"), nil)
		k.expected(a, "closing", http.StatusOK, http.StatusAccepted, http.StatusConflict)
		return a.status != http.StatusConflict
	})
	k.end()
}

// cancelAndDelete cancels while a question is open, and deletes the execution.
func (k *walker) cancelAndDelete() {
	k.until(func(e shown) bool { return len(e.PendingApprovals) > 0 })
	k.expected(k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/cancel"), object{"reason": "Enough."}), "cancelling",
		http.StatusOK, http.StatusAccepted, http.StatusConflict)
	k.end()
	k.mu.Lock()
	delete(k.made, k.id)
	k.mu.Unlock()
	k.expected(k.w.insist(k.ctx, k.dice, http.MethodDelete, k.own(""), nil), "deleting", http.StatusAccepted, http.StatusNotFound)
}

// rollback is one rollback of an execution, as far as walkers look at it.
type rollback struct {
	State  domain.RollbackState
	Error  *domain.Failure
	Result *domain.RollbackResult
}

// takeBack lets the execution write, and takes it back. Of its rollbacks, each ends, and one changes something at most: others write in the folder, too, so that a path
// may stay.
func (k *walker) takeBack() {
	k.approveAll(nil)
	for range 5 {
		preview := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/rollback"), object{"to": 1, "dryRun": true})
		var plan domain.RollbackPlan
		if preview.status != http.StatusOK || preview.into(&plan) != nil {
			k.expected(preview, "previewing a rollback", http.StatusNotFound, http.StatusConflict) // no checkpoint could be taken, or something runs in the folder
			break
		}
		done := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/rollback"), object{"to": 1, "hash": plan.Hash})
		k.expected(done, "rolling back", http.StatusOK, http.StatusAccepted, http.StatusConflict)
		if done.status == http.StatusOK {
			break
		}
	}
	for k.ctx.Err() == nil {
		var all struct{ Items []rollback }
		a := k.w.insist(k.ctx, k.dice, http.MethodGet, k.own("/rollbacks"), nil)
		if a.status != http.StatusOK || a.into(&all) != nil {
			k.expected(a, "reading the rollbacks")
			return
		}
		open, restored := 0, 0
		for _, one := range all.Items {
			switch {
			case one.State == domain.RollbackRequested || one.State == domain.RollbackRunning:
				open++
			case one.Result != nil:
				for _, folder := range one.Result.Folders {
					restored += folder.RestoredCount
				}
			}
		}
		if open == 0 {
			if restored > 1 {
				k.w.run.violate("%s: %s (%s): one file was written, and %d were taken back", k.w.name, k.key, k.id, restored)
			}
			return
		}
		rest(k.ctx, 100*time.Millisecond)
	}
}

// answerAll plays the client that runs the tools.
func (k *walker) answerAll() {
	k.until(func(e shown) bool {
		for _, call := range e.PendingToolCalls {
			a := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/tool-results"), object{"toolCallId": call.ToolCallID, "output": "rang"})
			k.expected(a, "answering", http.StatusOK, http.StatusConflict, http.StatusGone)
		}
		return false
	})
}

// submitted waits for blocks.
func (k *walker) submitted() {
	k.until(func(e shown) bool { return e.Status == domain.StatusIdle && e.Generation != nil })
}

// acceptBlocks wants an edit first, and takes the second version.
func (k *walker) acceptBlocks() {
	k.submitted()
	k.expected(k.post(k.own("/generation/edits"), object{"text": "scenario blocks " + k.key}), "editing", http.StatusAccepted, http.StatusConflict)
	k.until(func(e shown) bool {
		if e.Status != domain.StatusIdle || e.Generation == nil {
			return false
		}
		a := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/generation/accept"),
			object{"generation": e.Generation.Number, "documentRevision": "1"})
		k.expected(a, "accepting", http.StatusOK, http.StatusConflict)
		return a.status == http.StatusOK
	})
	k.end()
}

// dropBlocks cancels while blocks wait for acceptance.
func (k *walker) dropBlocks() {
	k.submitted()
	k.expected(k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/cancel"), nil), "cancelling", http.StatusOK, http.StatusAccepted, http.StatusConflict)
	k.end()
}

// resumeAgent chooses for an agent whose process died with the server in the middle of a call, and closes when it is idle.
func (k *walker) resumeAgent() {
	k.until(func(e shown) bool {
		if e.Status == domain.StatusInterrupted {
			a := k.w.insist(k.ctx, k.dice, http.MethodPost, k.own("/resume"), object{"mode": []string{"load", "fresh", "fail"}[k.dice.below(3)]})
			k.expected(a, "resuming", http.StatusOK, http.StatusAccepted, http.StatusConflict, http.StatusUnprocessableEntity)
		}
		return e.Status == domain.StatusIdle
	})
	k.close()
}
