package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
)

// survivor is the story of an execution under which the server is restarted.
type survivor struct {
	agent  string // of the cast
	before func(v *visit) (after func())
}

// cast are the agents of the survivors, by what is special about them.
var cast = map[string]object{
	"scripted":  {},
	"forgetful": {"args": []string{"-no-load"}},
	"resuming":  {"args": []string{"-resume"}},
	"late":      {"args": []string{"-replay", "after"}},
	"choosy":    {"args": []string{"-modes", "ask,code", "-models", "small,large", "-config", "effort", "-forget"}},
	"refusing":  {"args": []string{"-load-fails"}},
}

// TestAgentsAndRestarts restarts one house under all survivors at once: with SIGTERM on one engine, and with SIGKILL on the other. The long
// form of scripts/test-agents.sh runs it the other way round, by SIGNOFF_TEST_CROSSED.
func TestAgentsAndRestarts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		end, crossed := (*server).stop, os.Getenv("SIGNOFF_TEST_CROSSED") != ""
		if postgres := e.url != ""; postgres != crossed {
			end = (*server).kill
		}
		surviveAll(t, openHouse(t, e, cast), end)
	})
}

func surviveAll(t *testing.T, h *house, end func(*server)) {
	t.Helper()
	visits, afters := make([]*visit, len(survivors)), make([]func(), len(survivors))
	t.Run("before", func(t *testing.T) {
		for i, s := range survivors {
			visits[i] = h.enter(t, s.agent)
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				visits[i].t = t
				afters[i] = s.before(visits[i])
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	h.restart(func() { end(h.server) })
	t.Run("after", func(t *testing.T) {
		for i, s := range survivors {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				visits[i].t = t
				t.Cleanup(visits[i].leave)
				afters[i]()
			})
		}
	})
}

var survivors = []struct {
	name string
	survivor
}{
	{"idle", idle("scripted", "load")},
	{"idle and resumed", idle("resuming", "resume")},
	{"idle and replayed late", idle("late", "load")},
	{"idle and forgotten", idle("forgetful", "")},
	{"idle before its first prompt", survivor{"scripted", unprompted}},
	{"with options", survivor{"choosy", withOptions}},
	{"in its text", inText("scripted", "load")},
	{"in its text and resumed", inText("resuming", "resume")},
	{"in its text and replayed late", inText("late", "load")},
	{"in a call, loaded", inCall("scripted", "load")},
	{"in a call, resumed", inCall("resuming", "load")},
	{"in a call, begun anew", inCall("scripted", "fresh")},
	{"in a call, given up", inCall("scripted", "fail")},
	{"in its text and forgotten", survivor{"forgetful", func(v *visit) func() { return cannotGoOn(v) }}},
	{"in its text and not loaded", survivor{"refusing", func(v *visit) func() { return cannotGoOn(v) }}},
	{"asking", survivor{"scripted", func(v *visit) func() {
		id := v.start("say <one>", askLs, "say never")
		a := v.asked(id, 1)[0]
		return func() {
			log := v.told(id, "Hello from the scripted agent.")
			v.withdrawn(a.ID)
			if outcomes := of[domain.ToolCallCompleted](v.t, log); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeCancelled {
				v.t.Errorf("outcomes: %+v", outcomes)
			}
			if continued := of[domain.TurnContinued](v.t, log); len(continued) != 1 || continued[0].By != nil {
				v.t.Errorf("continued: %+v", continued)
			}
		}
	}}},
	{"with prompts that wait", survivor{"scripted", func(v *visit) func() {
		id := v.start("say <one>", forever)
		v.prompt(id, "say <two>")
		v.prompt(id, "say <three>")
		v.reach(id, domain.StatusStreaming)
		return func() {
			end := v.ended(id)
			said := text(v.t, v.page(id))
			if end.Status != "completed" || end.Turn != 3 || !strings.HasPrefix(said, "<one>Hello") ||
				!strings.HasSuffix(said, "<two><three>") {
				v.t.Errorf("%s in turn %d: %q", end.Status, end.Turn, said)
			}
		}
	}}},
	{"nobody chooses", survivor{"scripted", func(v *visit) func() {
		id := v.startAs(object{"approvalTimeoutSeconds": 1}, "call c1 kind=execute status=in_progress", forever)
		v.reach(id, domain.StatusExecutingTool)
		return func() {
			if end := v.ended(id); end.Status != "failed" || end.Output.Error.Code != "interrupted" {
				v.t.Errorf("ended: %s %+v", end.Status, end.Output)
			}
		}
	}}},
	{"interrupted and cancelled", survivor{"scripted", func(v *visit) func() {
		id := v.start("call c1 kind=execute status=in_progress", forever)
		v.reach(id, domain.StatusExecutingTool)
		return func() {
			v.reach(id, domain.StatusInterrupted)
			if end := v.cancelled(id, nil); end.Status != "cancelled" {
				v.t.Errorf("ended: %s", end.Status)
			}
		}
	}}},
	{"ended", survivor{"scripted", func(v *visit) func() {
		first, before := v.complete("say <one>")
		return func() {
			if !equal(v.page(first.ID), before) {
				v.t.Error("the log is another one")
			}
			v.told(v.startAs(object{"resumeFrom": first.ID}, "say <two>", "whoami"), `"opened":"load"`)
		}
	}}},
}

// idle is an execution between two turns. It stays idle, and its next prompt finds what the agent remembers.
func idle(agent, continued string) survivor {
	return survivor{agent, func(v *visit) func() {
		id := v.startAs(keptOpen, "say <one>", "call c1 status=in_progress", "update c1 completed", "whoami")
		v.reach(id, domain.StatusIdle)
		return func() {
			if status := v.get(id).Status; status != "idle" {
				v.t.Errorf("it is %s", status)
			}
			v.refused(http.StatusConflict, "notInterrupted", "POST", "/executions/"+id+"/resume", object{"mode": "load"})
			v.prompt(id, "say <two>", "whoami")
			if continued == "" {
				v.beginsAnew(id)
			}
			log := v.turns(id, 2)
			started, who := of[domain.AgentStarted](v.t, log), whoamis(v.t, log)
			if len(started) != 2 || started[1].Continued != continued || len(who) != 2 ||
				(who[0].SessionID == who[1].SessionID) != (continued != "") {
				v.t.Errorf("started %+v, who %+v", started, who)
			}
			v.once(log, "<one>", "<two>")
			v.reach(id, domain.StatusIdle)
		}
	}}
}

// unprompted is an execution whose agent waits for its first prompt. Its session has nothing to load, so the prompt opens a new one.
func unprompted(v *visit) func() {
	body := v.request(object{"keepOpen": true})
	delete(body, "prompt")
	id := v.create(body)
	v.reach(id, domain.StatusIdle)
	if started := of[domain.AgentStarted](v.t, v.page(id)); len(started) != 1 || started[0].AgentSession == "" {
		v.t.Errorf("the agent waits without a session: %+v", started)
	}
	return func() {
		v.prompt(id, "say <one>", "whoami")
		log := v.turns(id, 1)
		if started := of[domain.AgentStarted](v.t, log); len(started) != 2 || started[1].Continued != "" || len(whoamis(v.t, log)) != 1 {
			v.t.Errorf("started %+v", started)
		}
		v.once(log, "<one>")
		v.reach(id, domain.StatusIdle)
	}
}

// withOptions is an execution whose agent forgets what was chosen with it: what the request and the prompts have chosen is set
// again.
func withOptions(v *visit) func() {
	id := v.startAs(object{"keepOpen": true, "source": object{"type": "acp", "command": "choosy", "model": "large", "options": object{"effort": "max"}}}, "whoami")
	v.reach(id, domain.StatusIdle)
	v.choose(id, object{"mode": "code"}, "whoami")
	v.turns(id, 2)
	v.reach(id, domain.StatusIdle)
	p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions/"+id+"/prompts", object{"prompt": "x", "options": object{"mode": "nonsense"}})
	if p.Errors[0].Pointer != "/options/mode" || !strings.Contains(p.Detail, "It offers: ask, code.") {
		v.t.Errorf("%+v", p)
	}
	return func() {
		v.choose(id, object{"thought_level": "high"}, "whoami")
		log := v.turns(id, 3)
		for i, wanted := range []string{"ask large max", "code large max", "code large high"} {
			set := whoamis(v.t, log)[i].Settings
			if got := fmt.Sprint(set["mode"], " ", set["model"], " ", set["effort"]); got != wanted {
				v.t.Errorf("in turn %d the agent had %s, want %s", i+1, got, wanted)
			}
		}
		told := of[domain.AgentOptionsUpdated](v.t, log)
		newest := told[len(told)-1]
		if newest.Turn != 3 || newest.Options[2].Current != "high" {
			v.t.Errorf("told last: %+v", newest)
		}
		v.reach(id, domain.StatusIdle)
	}
}

// choose prompts an execution with options.
func (v *visit) choose(id string, options object, steps ...string) {
	v.t.Helper()
	want[object](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": acptest.Prompt(steps...), "options": options})
}

// once expects that these were said once, and no call was told twice.
func (v *visit) once(log []wireEvent, texts ...string) {
	v.t.Helper()
	said := text(v.t, log)
	for _, one := range texts {
		if n := strings.Count(said, one); n != 1 {
			v.t.Errorf("%s was said %d times: %q", one, n, said)
		}
	}
	if calls := of[domain.ToolCallRequested](v.t, log); len(calls) > 1 {
		v.t.Errorf("calls: %+v", calls)
	}
}

// inText is an execution whose agent talks and does nothing else. It goes on by itself.
func inText(agent, continued string) survivor {
	return survivor{agent, func(v *visit) func() {
		id := v.startAs(keptOpen, "say <one>")
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "think hm", "say <half>", forever)
		v.reach(id, domain.StatusStreaming)
		v.eventually("half a text", func() bool { return strings.Contains(text(v.t, v.page(id)), "<half>") })
		return func() {
			log := v.turns(id, 2)
			v.once(log, "<one>", "<half>", "Hello from the scripted agent.")
			again, started := of[domain.TurnContinued](v.t, log), of[domain.AgentStarted](v.t, log)
			if len(again) != 1 || again[0].Turn != 2 || again[0].Mode != domain.ResumeLoad || again[0].By != nil ||
				!strings.Contains(again[0].Text, "find out what has been done") || len(started) != 2 ||
				started[1].Continued != continued {
				v.t.Errorf("continued %+v, started %+v", again, started)
			}
			v.reach(id, domain.StatusIdle)
		}
	}}
}

// inCall is an execution whose agent does something. What became of that is not known, and somebody has to choose.
func inCall(agent, choice string) survivor {
	return survivor{agent, func(v *visit) func() {
		id := v.start("say <one>", `call c1 kind=execute title="Run it" status=in_progress`,
			"once "+v.path("once")+" "+forever,
			"update c1 completed", "say <again>")
		v.reach(id, domain.StatusExecutingTool)
		return func() {
			v.reach(id, domain.StatusInterrupted)
			log := v.page(id)
			if outcomes := of[domain.ToolCallCompleted](v.t, log); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeUnknown {
				v.t.Errorf("outcomes: %+v", outcomes)
			}
			if changes := of[domain.StateChanged](v.t, log); changes[len(changes)-1].Reason == "" {
				v.t.Error("nobody says why it is interrupted")
			}
			want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": choice})
			v.goesOn(id, choice)
		}
	}}
}

// goesOn expects what the choice for an interrupted turn leads to.
func (v *visit) goesOn(id, choice string) {
	v.t.Helper()
	end := v.ended(id)
	log := v.page(id)
	again := of[domain.TurnContinued](v.t, log)
	if choice == "fail" {
		if end.Status != "failed" || end.Output.Error.Code != "interrupted" || len(again) != 0 {
			v.t.Errorf("ended: %s %+v", end.Status, end.Output)
		}
		return
	}
	if end.Status != "completed" || len(again) != 1 || string(again[0].Mode) != choice || again[0].By == nil ||
		again[0].By.Name == "" {
		v.t.Errorf("ended: %s %+v, continued %+v", end.Status, end.Output, again)
	}
	last := map[string]string{"load": "Hello from the scripted agent.", "fresh": "<again>"}[choice]
	if end.Output.Text != last && !strings.HasSuffix(end.Output.Text, last) {
		v.t.Errorf("it ended with %q", end.Output.Text)
	}
	started := of[domain.AgentStarted](v.t, log)
	if len(started) != 2 || (started[1].Continued == "") != (choice == "fresh") {
		v.t.Errorf("started: %+v", started)
	}
}

// cannotGoOn is an execution whose agent talks, and cannot take its session up: somebody has to choose here too.
func cannotGoOn(v *visit) func() {
	id := v.start("say <one>", "once "+v.path("once")+" "+forever, "say <again>")
	v.reach(id, domain.StatusStreaming)
	return func() {
		v.reach(id, domain.StatusInterrupted)
		if v.agent == "forgetful" {
			v.refused(http.StatusUnprocessableEntity, "notResumable", "POST", "/executions/"+id+"/resume",
				object{"mode": "load"})
		}
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions/"+id+"/resume", object{"mode": "anyhow"})
		want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fresh"})
		end := v.ended(id)
		if said := text(v.t, v.page(id)); end.Status != "completed" || said != "<one><one><again>" {
			v.t.Errorf("%s, said %q", end.Status, said)
		}
		v.refused(http.StatusConflict, "notInterrupted", "POST", "/executions/"+id+"/resume", object{"mode": "fresh"})
		if again := fmt.Sprint(of[domain.TurnContinued](v.t, v.page(id))); !strings.Contains(again, "fresh") {
			v.t.Errorf("continued: %s", again)
		}
	}
}
