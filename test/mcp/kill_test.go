//go:build mcp && linux

package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store/storetest"
	"signoff/test/harness"
)

// points are the moments of a call at which a server is killed. Those that end in a number are passed several times; the later ones belong to the question
// of the server, and to the request that is repeated with its answer.
var (
	callPoints = []string{
		"before.toolCall.requested", "after.toolCall.requested", "before.approval.requested", "after.approval.requested",
		"before.request.decide", "after.request.decide", "after.http.decide",
		"before.toolCall.started", "after.toolCall.started", "before.mcp.call", "after.mcp.call", "before.toolCall.completed", "after.toolCall.completed",
	}
	questionPoints = []string{
		"before.mcp.call", "after.mcp.call", "before.approval.requested:2", "after.approval.requested:2", "before.request.decide:2", "after.request.decide:2",
		"after.http.decide:2",
	}
	repeatPoints = []string{"before.toolCall.started:2", "after.toolCall.started:2", "before.mcp.call:2", "after.mcp.call:2", "before.toolCall.completed", "after.toolCall.completed"}
)

// inFlight is no failpoint: the server is killed when the effect has happened and the answer has not been sent.
const inFlight = "in flight"

// lane is a kind of call, with all points at which it is killed.
type lane struct {
	behaviour, transport string
	points               []string
}

var lanes = []lane{
	{"honest", stdio, callPoints},
	{"honest-2026", web, callPoints},
	{"slow", stdio, []string{inFlight}},
	{"slow-2026", web, []string{inFlight}},
	{"asks", web, questionPoints},
	{"asks", stdio, questionPoints},
	{"asks-2026", web, append(slices.Clone(questionPoints), repeatPoints...)},
	{"asks-2026", stdio, append(slices.Clone(questionPoints), repeatPoints...)},
}

// TestKills kills a replica at each point of a call, while another one is there: the call runs once, or nobody claims to know its outcome.
func TestKills(t *testing.T) {
	t.Parallel()
	for _, l := range lanes {
		t.Run(l.behaviour+"/"+l.transport, func(t *testing.T) {
			t.Parallel()
			w := newKills(t, l)
			for i, point := range l.points {
				t.Run(point, func(t *testing.T) { w.try(t, fmt.Sprintf("%s-%d", l.behaviour, i), point) })
			}
			t.Logf("%d kills: %d calls ran once, %d never; %d outcomes are unknown", len(l.points), w.once, w.never, w.unknown)
		})
	}
}

// kills is a lane at work: a server that survives, and its database.
type kills struct {
	lane
	*server
	place                string // of the ledger
	once, never, unknown int
}

func newKills(t *testing.T, l lane) *kills {
	t.Helper()
	w := &kills{lane: l}
	m := newModel(t, func(a *harness.Answer, conversation []harness.Message) {
		if results := told(conversation); len(results) > 0 {
			a.Say("told: ", results[0])
			return
		}
		a.Want("mcp__"+l.behaviour+"__touch", object{"key": said(conversation)})
	})
	w.server = newServer(t, m, nil, "SIGNOFF_DATABASE_URL="+storetest.Postgres(t))
	w.place = filepath.Join(w.workspace, "ledger.txt")
	entry := object{"command": hostile, "args": []string{"stdio", l.behaviour}, "setEnv": object{"LEDGER": w.place}, "mounts": object{w.workspace: "write"}, "required": true}
	if l.transport == web {
		entry = object{"url": serveHostile(t, "LEDGER="+w.place) + "/" + l.behaviour + "/" + l.behaviour, "required": true}
	}
	w.configure(m, object{l.behaviour: entry})
	w.start()
	return w
}

// try kills one replica at a point.
func (w *kills) try(t *testing.T, key, point string) {
	env := []string{"SIGNOFF_LEASE_SECONDS=3"} // the others keep the long one
	if point != inFlight {
		env = append(env, "SIGNOFF_TEST_FAILPOINT="+point)
	}
	mortal := w.replica(t, env...)
	mortal.binary = mortalBinary
	mortal.start()
	id := mortal.begin(t, key, w.behaviour).ID
	w.live(t, mortal, id, key, point)
	if mortal.process.Running() {
		t.Fatalf("the replica has not come to %s: the execution is %s", point, w.get(t, id).Status)
	}
	end, asked := w.person(t, id, gives(object{"password": "hunter2"}))
	w.judge(t, end, asked, w.log(t, id), key, point)
}

// live has a person decide at the replica that is to die, until it has died or the execution has ended.
func (w *kills) live(t *testing.T, mortal *server, id, key, point string) {
	t.Helper()
	answer := gives(object{"password": "hunter2"})
	for deadline := time.Now().Add(patience); mortal.process.Running() && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if point == inFlight && w.ran(t, key) > 0 {
			must(t, mortal.process.Kill())
			return
		}
		if w.get(t, id).ended() {
			time.Sleep(100 * time.Millisecond) // what it is killed at may come right behind the end
			return
		}
		for _, a := range w.approvals(t, id) {
			if a.Status == "pending" {
				_, _, _ = mortal.send("POST", "/approvals/"+a.ID, harness.With(object{"argumentsHash": a.ArgumentsHash}, answer(a))) // it may die of it
			}
		}
	}
}

// judge holds what happened against what is told of it.
func (w *kills) judge(t *testing.T, end execution, asked []approval, log []harness.Event, key, point string) {
	t.Helper()
	ran, answers := w.ran(t, key), w.answers(t, key)
	calls := outcomes(t, log)
	if end.Status != string(domain.StatusCompleted) || len(calls) != 1 {
		t.Fatalf("it ended as %s %+v with %d outcomes", end.Status, end.Output, len(calls))
	}
	switch {
	case ran > 1 || answers > 1:
		t.Errorf("the call ran %d times, and the server was answered %d times", ran, answers)
	case calls[0].Outcome == domain.OutcomeSucceeded && ran == 0:
		t.Error("it is told as succeeded, and never ran")
	case calls[0].Outcome == domain.OutcomeSucceeded && strings.HasPrefix(w.behaviour, "asks") && answers == 0:
		t.Error("it is told as succeeded, and the server never got the answer to its question")
	case calls[0].Outcome != domain.OutcomeSucceeded && calls[0].Outcome != domain.OutcomeUnknown:
		t.Errorf("the outcome is %s: %s", calls[0].Outcome, calls[0].Output)
	case calls[0].Outcome == domain.OutcomeUnknown && !started(log):
		t.Error("the outcome is told as unknown, and the call never began")
	case surely(w.behaviour, point) && calls[0].Outcome != domain.OutcomeSucceeded:
		t.Errorf("nothing was in flight, and the outcome is %s: %s", calls[0].Outcome, calls[0].Output)
	}
	if w.once += ran; ran == 0 {
		w.never++
	}
	if calls[0].Outcome == domain.OutcomeUnknown {
		w.unknown++
	}
	if t.Failed() {
		for _, a := range asked {
			t.Logf("asked: %s", a.Raw)
		}
		t.Log(w.tail(t, end.ID))
	}
}

// surely: at this point no request is in flight, so that who takes over can go on. With the revision 2026-07-28 that is so also while its question is open.
// A decision wakes its session at once, so that behind one nobody knows how far the call is.
func surely(behaviour, point string) bool {
	moment, question := strings.CutSuffix(point, ":2")
	switch moment {
	case inFlight, "before.mcp.call", "after.mcp.call", "after.toolCall.started", "before.toolCall.completed", "after.request.decide", "after.http.decide":
		return false
	}
	if question && !strings.HasSuffix(behaviour, "-2026") {
		return false
	}
	return point != "before.approval.requested:2"
}

func started(log []harness.Event) bool {
	return slices.ContainsFunc(log, func(e harness.Event) bool { return e.Type == string(domain.ToolCallStartedType) })
}

// ran is how often the effect of a call happened.
func (w *kills) ran(t *testing.T, key string) int { return w.count(t, key) }

// answers is how often the server was answered its question.
func (w *kills) answers(t *testing.T, key string) int { return w.count(t, "answer "+key+" accept") }

func (w *kills) count(t *testing.T, wanted string) (n int) {
	t.Helper()
	content, err := os.ReadFile(w.place)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.TrimSpace(line) == wanted {
			n++
		}
	}
	return n
}
