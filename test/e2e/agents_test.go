package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestAnAgentTellsWhatItOffers: the server asks its program, shows the answer, and holds requests against it.
func TestAnAgentTellsWhatItOffers(t *testing.T) {
	t.Parallel()
	h := openHouse(t, engine{}, map[string]object{"curious": {"args": []string{"-modes", "ask,code", "-config", "effort"}}})
	v := h.visit(t, "curious")
	type details struct {
		Name, Version string
		Probing       bool
		Offers        struct {
			Version string
			Options []domain.AgentOption
		}
	}
	shown := want[details](v.client, http.StatusOK, "GET", "/agents/Curious", nil)
	if shown.Name != "curious" || shown.Probing || shown.Offers.Version != "1" || len(shown.Offers.Options) != 2 || shown.Offers.Options[1].Category != "thought_level" {
		t.Fatalf("%+v", shown)
	}
	p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
		v.request(object{"source": object{"type": "acp", "command": "curious", "options": object{"effort": "max"}}}))
	if !strings.Contains(p.Detail, "low, high") || p.Errors[0].Pointer != "/source/options/effort" {
		t.Errorf("%+v", p)
	}
	id := v.startAs(object{"source": object{"type": "acp", "command": "curious", "mode": "code", "options": object{"effort": "high"}}}, "whoami")
	v.ended(id)
	if set := whoamis(t, v.page(id))[0].Settings; set["mode"] != "code" || set["effort"] != "high" {
		t.Errorf("the agent has %v", set)
	}
}

// TestCursorsAgent: the built-in entry is in no registry, so a scripted peer stands in its place, which offers what its documentation says: a method of
// authentication that nobody may use, three modes, questions without a lasting no, and a request of its own that would block it.
func TestCursorsAgent(t *testing.T) {
	t.Parallel()
	h := openHouse(t, engine{}, map[string]object{"cursor": {"args": []string{"-modes", "plan,agent,ask", "acp"}}}, "CURSOR_API_KEY=k3y-of-cursor")
	v := h.visit(t, "cursor-agent")
	id := v.start("request cursor/ask_question {}", `ask c1 kind=execute title="Run ls" input={"command":"ls"} options=allow-once:allow_once,allow-always:allow_always,reject-once:reject_once`,
		"whoami")
	a := v.asked(id, 1)[0]
	v.decide(a)
	log := v.told(id, "c1 answer=allow-once")
	who := whoamis(t, log)[0]
	if who.Settings["mode"] != "agent" || !slices.Contains(who.Env, "CURSOR_API_KEY") || who.Argv[len(who.Argv)-1] != "acp" {
		t.Errorf("%+v", who)
	}
	calls := of[domain.ToolCallRequested](t, log)
	if len(calls) != 1 {
		t.Fatalf("%+v", calls)
	}
	v.refused(http.StatusUnprocessableEntity, "invalid", "GET", "/executions/"+id+"/diff?toolCallId="+calls[0].ToolCallID, nil) // of turns alone
}
