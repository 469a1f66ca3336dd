package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	difference "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

const oddOptions = `{"configOptions":[
	{"id":"a","category":"mode","type":"select","currentValue":"code","options":[{"value":"code","name":"Code"},
		{"group":"more","name":"More","options":[{"value":"plan","name":"Plan it"}]}]},
	{"id":"model","type":"select","currentValue":"m1","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]},
	{"id":"b","category":"mode","type":"boolean","currentValue":true}, {"id":"c","category":"mode","type":"dial"}, 7],
	"modes":{"currentModeId":"legacy","availableModes":[{"id":"legacy","name":"Old"}]}}`

// TestAChoiceThatIsRefusedIsNotSet: what may be chosen is not for the agent's side to say.
func TestAChoiceThatIsRefusedIsNotSet(t *testing.T) {
	refused := domain.Invalid("/source/mode", "not this one")
	var judged []string
	a := &agent{translator: newTranslation(t, domain.Opening{}).translator, config: Config{Judge: func(_ settings.Selection, option settings.Option, found domain.AgentChoice) error {
		judged = append(judged, option.ID+" "+found.Value)
		return refused
	}}}
	a.translator.established(wire.ReadObject(json.RawMessage(oddOptions)))
	err := a.choose(t.Context(), []settings.Selection{{Option: settings.CategoryMode, Value: "Plan it"}})
	want(t, "refused", errors.Is(err, refused), true)
	want(t, "judged", strings.Join(judged, ", "), "a plan")
	want(t, "the mode", a.translator.settings.Current(settings.CategoryMode), "code")
}

// TestSettingsAreReadLeniently: groups, unknown types and missing categories; options come before modes.
func TestSettingsAreReadLeniently(t *testing.T) {
	s := newTranslation(t, domain.Opening{}).translator
	s.established(wire.ReadObject(json.RawMessage(oddOptions)))
	want(t, "current", s.settings.Current(settings.CategoryMode)+" "+s.settings.Current(settings.CategoryModel), "code m1")
	offers := s.settings.Offers(settings.CategoryMode)
	want(t, "offers", len(offers), 2)
	want(t, "found", fmt.Sprint(offers[0].Choice("plan").Value, offers[0].Choice("PLAN IT").Value, offers[0].Choice("x").Value,
		offers[1].Choice("Old").Value), "planplanlegacy")
	// The answer to a choice lists all options anew: one may change another.
	s.chosen(offers[0], "plan", wire.ReadObject(json.RawMessage(`{"configOptions":[
		{"id":"model","type":"select","currentValue":"m2","options":[]}]}`)))
	want(t, "model", s.settings.Current(settings.CategoryModel), "m2")
	s.chosen(offers[1], "legacy", nil)
	want(t, "mode", s.settings.Current(settings.CategoryMode), "legacy")
}

// TestOffersAreTold: what can be chosen is told when the session begins, and again when it has changed; once each.
func TestOffersAreTold(t *testing.T) {
	r := newRig(t, "-modes", "code,plan", "-models", "m1,m2")
	r.launch.Selections = selects(settings.CategoryMode, "plan")
	r.open()
	option := func(id, current string, values ...string) domain.AgentOption {
		all := domain.AgentOption{ID: id, Category: id, Current: current}
		for _, value := range values {
			all.Choices = append(all.Choices, domain.AgentChoice{Value: value})
		}
		return all
	}
	tellsOptions := func(host *hosttest.Host, wanted ...domain.AgentOption) {
		t.Helper()
		told := hosttest.Of[domain.AgentOptionsUpdated](host)
		if len(told) != 1 {
			t.Fatalf("told %d times: %+v", len(told), told)
		}
		unnamed := cmpopts.IgnoreFields(domain.AgentChoice{}, "Name", "Description")
		if diff := difference.Diff(wanted, told[0].Options, unnamed); diff != "" {
			t.Errorf("options (-want +got):\n%s", diff)
		}
	}
	tellsOptions(r.outside, option("mode", "plan", "code", "plan"), option("model", "m1", "m1", "m2"))
	r.runs("mode code", "mode code", "say hello")
	tellsOptions(r.host, option("mode", "code", "code", "plan"), option("model", "m1", "m1", "m2"))
}

// TestOptionsAreChosen: by their ids or categories, the model first, and what is chosen later goes before what was chosen earlier.
func TestOptionsAreChosen(t *testing.T) {
	request := func(source domain.Source, prompts ...map[string]string) (all []settings.Selection) {
		all = append([]settings.Selection{
			{Option: settings.CategoryMode, Value: "ask", Pointer: "/source/mode", Level: settings.LevelRegistry},
			{Option: settings.CategoryModel, Value: "m1", Pointer: "/source/model", Level: settings.LevelRegistry},
		}, settings.SourceSelections(source)...)
		for i, options := range prompts {
			all = append(all, settings.Selections(options, "/options", settings.LevelPrompts+i)...)
		}
		return all
	}
	for name, c := range map[string]struct {
		selections []settings.Selection
		set        string // mode, model and effort
		refused    string // the pointer, and what the message has
	}{
		"of the registry":          {selections: request(domain.Source{}), set: "ask m1 low"},
		"by id":                    {selections: request(domain.Source{Options: map[string]string{"effort": "high", "mode": "plan"}}), set: "plan m1 high"},
		"by category and name":     {selections: request(domain.Source{Options: map[string]string{"thought_level": "the HIGH"}}), set: "ask m1 high"},
		"only with another model":  {selections: request(domain.Source{Model: "m2", Options: map[string]string{"effort": "max"}}), set: "ask m2 max"},
		"twice the same":           {selections: request(domain.Source{Mode: "plan", Options: map[string]string{"mode": "The plan"}}), set: "plan m1 low"},
		"prompts go before":        {selections: request(domain.Source{Mode: "code"}, map[string]string{"mode": "plan"}), set: "plan m1 low"},
		"the later prompt":         {selections: request(domain.Source{}, map[string]string{"effort": "high"}, map[string]string{"thought_level": "low"}), set: "ask m1 low"},
		"contradictory":            {selections: request(domain.Source{Mode: "plan", Options: map[string]string{"mode": "code"}}), refused: "/source/mode It contradicts /source/options/mode"},
		"contradictory by meaning": {selections: request(domain.Source{Options: map[string]string{"thought_level": "low", "effort": "high"}}), refused: "/source/options/thought_level It contradicts"},
		"an unknown value":         {selections: request(domain.Source{Options: map[string]string{"effort": "max"}}), refused: `/source/options/effort The agent does not offer the value "max" of the option "effort". It offers: low, high.`},
		"an unknown option":        {selections: request(domain.Source{}, map[string]string{"temper/ature": "1"}), refused: `/options/temper~1ature The agent has no option "temper/ature". It has: mode, model, effort.`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "-modes", "ask,code,plan", "-models", "m1,m2", "-config", "effort")
			r.launch.Selections = c.selections
			err := r.tryOpen()
			if c.refused != "" {
				e := problem(t, err)
				want(t, "code", e.Code, domain.CodeInvalid)
				if got := e.Details[0].Pointer + " " + e.Message; !strings.HasPrefix(got, c.refused) {
					t.Errorf("refused with %s, want %s", got, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want(t, "set", r.chosen(), c.set)
		})
	}
}

// chosen is what the agent itself says of its settings.
func (r *rig) chosen() string {
	settings := r.whoami().Settings
	return settings["mode"] + " " + settings["model"] + " " + cmp.Or(settings["effort"], "low")
}

// TestOptionsOfAPrompt: they are set before its turn, stay afterwards, and are set all or none.
func TestOptionsOfAPrompt(t *testing.T) {
	r := newRig(t, "-modes", "ask,code", "-models", "m1,m2", "-config", "effort",
		"-script", `config: once refused fail -32603 "not now"`)
	r.open()
	say := func(options map[string]string) error {
		r.turns++
		_, err := r.agent.Prompt(t.Context(), r.host, domain.Prompt{Turn: r.turns, Text: acptest.Prompt("say hello"), Options: options})
		return err
	}
	message := r.fails(say(map[string]string{"mode": "code"}), domain.CodeInvalid)
	if wanted := `The agent refuses the mode "code". It answered: not now (code -32603). It offers: ask, code.`; message != wanted {
		t.Errorf("got %s\nwant %s", message, wanted)
	}
	want(t, "after the refusal of one", r.chosen(), "ask m1 low")
	r.fails(say(map[string]string{"model": "m2", "effort": "loud"}), domain.CodeInvalid)
	want(t, "what came before a wrong one is set back", r.chosen(), "ask m1 low")
	if err := say(map[string]string{"model": "m2", "effort": "max"}); err != nil {
		t.Fatal(err)
	}
	want(t, "options", r.chosen(), "ask m2 max")
	if err := say(nil); err != nil {
		t.Fatal(err)
	}
	want(t, "they stay", r.chosen(), "ask m2 max")
	told := hosttest.Of[domain.AgentOptionsUpdated](r.host)
	newest := told[len(told)-1]
	want(t, "told", newest.Options[1].Current+" "+newest.Options[2].Current, "m2 max")
}

// TestOptionsOfACancelledTurn: who cancels a turn has not taken its options back.
func TestOptionsOfACancelledTurn(t *testing.T) {
	r := newRig(t, "-modes", "ask,code", "-config", "plain", "-script", "config: once first await go")
	r.open()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errTurnCancelled) })
	_, err := r.agent.Prompt(ctx, r.host, domain.Prompt{Turn: 1, Text: acptest.Prompt("say hello"), Options: map[string]string{"mode": "code"}})
	if !errors.Is(err, errTurnCancelled) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.launch.Process.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "in the next turn", r.whoami().Settings["mode"], "code")
}

// TestOptionsAreListed: an option stands for the mode or model that the agent lists in the older way as well.
func TestOptionsAreListed(t *testing.T) {
	s := newTranslation(t, domain.Opening{}).translator
	s.established(wire.ReadObject(json.RawMessage(`{"configOptions":[
		{"id":"m","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask","description":"Asks."}]},
		{"id":"thinking","name":"Thinking","category":"thought_level","type":"select","currentValue":"high","options":[{"value":"high"},{"value":"low"}]}],
		"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]},
		"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One"}]}}`)))
	wanted := []domain.AgentOption{
		{ID: "m", Name: "Mode", Category: "mode", Current: "ask", Choices: []domain.AgentChoice{{Value: "ask", Name: "Ask", Description: "Asks."}}},
		{ID: "thinking", Name: "Thinking", Category: "thought_level", Current: "high", Choices: []domain.AgentChoice{{Value: "high"}, {Value: "low"}}},
		{ID: "model", Category: "model", Current: "m1", Choices: []domain.AgentChoice{{Value: "m1", Name: "One"}}},
	}
	if diff := difference.Diff(wanted, s.settings.List()); diff != "" {
		t.Error(diff)
	}
}
