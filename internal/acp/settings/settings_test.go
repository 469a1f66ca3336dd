package settings

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

const offered = `{"configOptions":[{"id":"m","category":"mode","type":"select","currentValue":"ask","options":[
	{"value":"ask","name":"Ask first"},{"value":"code","name":"Code"}]}]}`

func read(t *testing.T, text string) wire.Object {
	t.Helper()
	return wire.ReadObject(json.RawMessage(text))
}

// TestOneOptionIsChosenOnce: a request may name a choice twice, by its id and by its name, and not choose two.
func TestOneOptionIsChosenOnce(t *testing.T) {
	var known, unknown Settings
	known.ReadSession(read(t, offered))
	for _, test := range []struct {
		settings    *Settings
		mode, other string
		contradicts bool
	}{
		{&unknown, "ask", "ask", false}, {&unknown, "ask", "code", true},
		{&known, "ask", "Ask first", false}, {&known, "ask", "code", true}, {&known, "code", "Ask first", true},
	} {
		_, err := test.settings.Effective(SourceSelections(domain.Source{Mode: test.mode, Options: map[string]string{"mode": test.other}}))
		var problem *domain.Error
		if invalid := errors.As(err, &problem); test.contradicts != invalid || invalid && problem.Details[0].Pointer != "/source/mode" {
			t.Errorf("%s and %s: %v", test.mode, test.other, err)
		}
	}
}

// TestAModeThatTheAgentChangesIsCurrent, where it is offered as an option as well.
func TestAModeThatTheAgentChangesIsCurrent(t *testing.T) {
	var s Settings
	s.ReadSession(read(t, offered))
	for _, change := range []struct{ update, current string }{
		{`{"currentModeId":"code"}`, "code"}, {`{"modeId":"ask"}`, "ask"}, {`{"currentModeId":"elsewhere"}`, "ask"},
	} {
		s.ReadUpdate("current_mode_update", read(t, change.update))
		at := slices.IndexFunc(s.options, func(o Option) bool { return o.ID == "m" })
		if got := s.options[at].Current; got != change.current {
			t.Errorf("%s: the mode is %s, want %s", change.update, got, change.current)
		}
	}
}
