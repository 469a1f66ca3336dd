//go:build linux

package main

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// hostile has models and agents do whatever they like, among good executions on the same server, which is killed now and then. Only
// those fail or are interrupted that have to, with an error or a cause that says so, soon after each is cancelled nothing of them is left,
// and the good ones are unharmed.
func hostile(r *run) {
	folder, err := os.MkdirTemp(r.stage.folder, "hostile-")
	r.must(err)
	defer os.RemoveAll(folder)
	s := &scene{run: r, folder: folder, stage: r.stage}
	attacks := newScenarios(hostileModels())
	defer attacks.close()
	config := attacks.config(r, folder, object{"scripted": object{
		"command": s.build("agent", "signoff/internal/acp/acptest/agent"), "home": "private", "startTimeoutSeconds": 60,
	}})
	w := newWorld(r, setup{name: "sqlite", live: 10, env: map[string]string{"SIGNOFF_CONFIG": config}})
	defer w.close()
	d := r.dice.own()
	w.load.start()
	for range r.cycles {
		w.load.awaitLive(6)
		w.attacks(d)
		r.cycled()
	}
	w.load.settle(comeBack)
	w.check()
}

// hostileModels are the models. Each does the same at every attempt, so the server stops repeating the request in the end, but for those
// that go on for ever.
func hostileModels() map[string]scenario {
	status := func(code int) scenario {
		return func(a *harness.Answer, _ string, _ int) {
			a.W.Header().Set("Retry-After", "0.05")
			a.Refuse(code, "")
		}
	}
	raw := func(text string) scenario {
		return func(a *harness.Answer, _ string, _ int) {
			a.Broken = true
			fmt.Fprint(a.W, text)
		}
	}
	return map[string]scenario{
		"status429": status(http.StatusTooManyRequests),
		"status503": status(http.StatusServiceUnavailable),
		"errorEvent": func(a *harness.Answer, key string, results int) {
			a.Say(key)
			raw(`data: {"error":{"message":"broken","code":500}}`+"\n\n")(a, key, results)
		},
		"truncated":   func(a *harness.Answer, _ string, _ int) { a.Say("half a sen"); panic(http.ErrAbortHandler) },
		"unended":     func(a *harness.Answer, _ string, _ int) { a.Say("half a sen"); a.Broken = true },
		"invalidJSON": raw("data: {\"choices\":[{\"delta\":{\"content\":\"x\"\n\n"),
		"noise":       raw(strings.Repeat("\x00\xff<html>", 5000)),
		"hugeChunk":   func(a *harness.Answer, _ string, _ int) { a.Say(strings.Repeat("x", 64<<20)); a.Broken = true },
		"wildCall":    wildCall,
		"slow":        forever(time.Second, "x"),
		"endless":     forever(0, strings.Repeat("endless ", 1000)),
		"silent":      func(a *harness.Answer, _ string, _ int) { <-a.Gone },
	}
}

// forever repeats a text until the client has gone.
func forever(pause time.Duration, text string) scenario {
	return func(a *harness.Answer, _ string, _ int) {
		for range math.MaxInt {
			a.Say(text)
			select {
			case <-a.Gone:
				return
			case <-time.After(pause):
			}
		}
	}
}

// wildCall asks for missing tools, with invalid arguments. The server reports that to the model, and continues.
func wildCall(a *harness.Answer, key string, results int) {
	calls := [][2]string{{"nothing", "{}"}, {"bash", `{"command":`}, {"bash", `{"command":7}`}}
	if results < len(calls) {
		a.WantRaw(calls[results][0], calls[results][1])
		return
	}
	farewell(a, key)
}

// attack is a hostile execution and how it has to end.
type attack struct {
	name  string
	model string // a scenario, or
	agent []string
	ends  string // failed, interrupted or completed by itself; cancelled: it would go on for ever
}

// attacks are all of them. Those that never end are cancelled after a while.
var attacks = []attack{
	{name: "429", model: "status429", ends: "interrupted"},
	{name: "503", model: "status503", ends: "interrupted"},
	{name: "an error behind 200", model: "errorEvent", ends: "interrupted"},
	{name: "a stream that is torn", model: "truncated", ends: "interrupted"},
	{name: "a stream without an end", model: "unended", ends: "interrupted"},
	{name: "invalid JSON", model: "invalidJSON", ends: "interrupted"},
	{name: "noise", model: "noise", ends: "interrupted"},
	{name: "a huge chunk", model: "hugeChunk", ends: "failed"},
	{name: "wild calls", model: "wildCall", ends: "completed"},
	{name: "a byte a second", model: "slow", ends: "cancelled"},
	{name: "a silent model", model: "silent", ends: "cancelled"},
	{name: "an endless answer", model: "endless", ends: "cancelled|failed"},
	{name: "an agent that exits", agent: []string{"say a", "crash 0"}, ends: "failed|interrupted"},
	{name: "an agent that crashes", agent: []string{"stderr panic: oh", "crash 3"}, ends: "failed|interrupted"},
	{name: "an agent that hangs", agent: []string{"hang"}, ends: "cancelled"},
	{name: "an agent that ignores a cancel", agent: []string{"oncancel ignore", "ignoreterm", "ignoreeof", "silence 600000"}, ends: "cancelled"},
	{name: "an agent that floods", agent: []string{"flood 100000000 1000", "say b"}, ends: "failed|interrupted|completed"},
	{name: "an agent with one long line", agent: []string{"longline 100"}, ends: "completed|failed|interrupted"},
	{name: "an agent that floods stderr", agent: []string{"stderrflood 100000000 100", "say c"}, ends: "completed|interrupted"},
	{name: "an agent that talks nonsense", agent: []string{"rawline {{{", "rawline {\"jsonrpc\":\"2.0\",\"id\":9999,\"result\":{}}", "say d"}, ends: "completed|failed|interrupted"},
	{name: "an agent with grandchildren", agent: []string{"orphan orphan.pid 600", "say e"}, ends: "completed|interrupted"},
}

const (
	// attacksEndWithin is how long an attack may take that ends by itself.
	attacksEndWithin = 5 * time.Minute
	// attacksRetryForSeconds is for how long the request to a hostile model is repeated: some attempts, with the pauses between.
	attacksRetryForSeconds = 5
	// cancelledWithin is until a cancelled one has ended, whatever it does. Alone they take three seconds; beside two other blocks on two cores, one took 17.
	cancelledWithin = time.Minute
)

// attacks lets all of them loose at once, and kills the server in the middle.
func (w *world) attacks(d *dice) {
	var killed atomic.Bool
	parts := []func(){func() {
		w.run.sleep(d.between(300*time.Millisecond, 2*time.Second))
		w.run.must(w.servers[0].kill())
		killed.Store(true) // not before: attacks that begin after it must not see the death
		w.servers[0].start()
	}}
	for _, v := range attacks {
		own := d.own()
		parts = append(parts, func() { w.attack(v, own, &killed) })
	}
	w.run.sideBySide(parts...)
	w.noOrphans()
}

// attack plays one part: half of them come when the server has been killed already, and see nothing of that.
func (w *world) attack(v attack, d *dice, killed *atomic.Bool) {
	for calm := d.below(2) == 0; calm && !killed.Load(); {
		w.run.sleep(50 * time.Millisecond)
	}
	through := !killed.Load()
	k := &walker{walks: &walks{w: w, ctx: w.load.ctx}, dice: d, key: "attack-" + strconv.Itoa(d.below(math.MaxInt32))}
	body := object{"metadata": object{"key": k.key}}
	if v.agent != nil {
		body["source"], body["prompt"] = object{"type": "acp", "command": "scripted"}, acptest.Prompt(v.agent...)
	} else {
		body["source"], body["prompt"] = object{"type": "internal"}, "scenario "+v.model+" "+k.key
		body["retry"] = object{"forSeconds": attacksRetryForSeconds}
	}
	a := k.post("/executions", body)
	var created struct{ ID string }
	if a.status != http.StatusCreated || a.into(&created) != nil {
		w.run.violate("%s: create %s: %s", w.name, v.name, a)
		return
	}
	k.id = created.ID
	if strings.Contains(v.ends, "cancelled") {
		w.run.sleep(d.between(2*time.Second, 5*time.Second))
		k.expected(w.insist(k.ctx, d, http.MethodPost, k.own("/cancel"), nil), "cancelling", http.StatusOK, http.StatusAccepted, http.StatusConflict)
		w.outcome(k, v, cancelledWithin, through)
		return
	}
	w.outcome(k, v, attacksEndWithin, through)
}

// outcome waits for the end and looks whether it is the right one. For one that goes through the death of the server a cancel may take
// some time, and an agent may be interrupted, or behave well when it is asked to continue.
func (w *world) outcome(k *walker, v attack, within time.Duration, through bool) {
	begun, status, cause := time.Now(), domain.Status(""), domain.CauseProvider
	if v.agent != nil {
		cause = domain.CauseProcessGone
	}
	for status == "" && time.Since(begun) < attacksEndWithin && k.ctx.Err() == nil {
		a := w.insist(k.ctx, k.dice, http.MethodGet, k.own(""), nil)
		var e struct {
			Status domain.Status
			Cause  domain.InterruptCause
			Output *struct {
				Error *struct{ Code, Message string }
			}
		}
		if a.status == http.StatusOK && a.into(&e) == nil && (e.Status.Terminal() || e.Status == domain.StatusInterrupted) {
			status = e.Status
			w.run.expect(status != domain.StatusFailed || e.Output != nil && e.Output.Error != nil && e.Output.Error.Code != "" &&
				e.Output.Error.Code != string(domain.CodeInternal), "%s: %s failed without saying why: %s", w.name, v.name, a)
			w.run.expect(status != domain.StatusInterrupted || e.Cause == cause, "%s: %s is interrupted for another cause: %s", w.name, v.name, a)
		}
		rest(k.ctx, 50*time.Millisecond)
	}
	took := time.Since(begun)
	right := slices.Contains(strings.Split(v.ends, "|"), string(status)) || through && v.agent != nil && status == domain.StatusCompleted
	w.run.expect(right, "%s: %s (%s) is %q after %s, not %s", w.name, v.name, k.id, status, took, v.ends)
	if status == domain.StatusCancelled {
		w.run.took("cancel", took)
		w.run.expect(took <= within || through, "%s: %s (%s) has ended %s after it was cancelled", w.name, v.name, k.id, took)
	}
	if status == domain.StatusInterrupted {
		k.expected(w.insist(k.ctx, k.dice, http.MethodPost, k.own("/cancel"), nil), "cancelling", http.StatusOK, http.StatusAccepted, http.StatusConflict)
		k.end()
	}
	w.run.count("attacks", 1)
	w.run.operation(true)
}

// noOrphans checks that no grandchild of an agent is left, five seconds later at most: they sleep for ten minutes.
func (w *world) noOrphans() {
	left := func() []string {
		found, _ := exec.Command("pgrep", "-f", "^sleep 600").Output()
		var ours []string
		for _, pid := range strings.Fields(string(found)) {
			if at, err := os.Readlink(filepath.Join("/proc", pid, "cwd")); err == nil && strings.HasPrefix(at, w.folder) {
				ours = append(ours, pid)
			}
		}
		return ours
	}
	gone := w.run.await(5*time.Second, func() bool { return len(left()) == 0 })
	w.run.expect(gone, "%s: I8: grandchildren of agents are left: %v", w.name, left())
}
