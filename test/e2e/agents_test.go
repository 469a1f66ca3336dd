package e2e

import (
	"net/http"
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
