package acp

import (
	"encoding/json"
	"fmt"
	"testing"

	"signoff/internal/domain"
)

const oddOptions = `{"configOptions":[
	{"id":"a","category":"mode","type":"select","currentValue":"code","options":[{"value":"code","name":"Code"},
		{"group":"more","name":"More","options":[{"value":"plan","name":"Plan it"}]}]},
	{"id":"model","type":"select","currentValue":"m1","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]},
	{"id":"b","category":"mode","type":"boolean","currentValue":true}, {"id":"c","category":"mode","type":"dial"}, 7],
	"modes":{"currentModeId":"legacy","availableModes":[{"id":"legacy","name":"Old"}]}}`

const bypassingOptions = `"configOptions":[{"id":"m","category":"mode","type":"select","currentValue":"ask","options":[
	{"value":"ask","name":"Ask"},{"value":"agent-full-access","name":"Agent (full access)"},{"value":"x1","name":"YOLO"},{"value":"agent","name":"Go on"}]}]`

const bypassingModes = `"modes":{"currentModeId":"bypassPermissions","availableModes":[
	{"id":"bypassPermissions","name":"At my own risk"},{"id":"plan","name":"Plan"}]}`

// TestTheModeBehindAWordIsJudged: a mode has a name beside its id, and what asks nobody is known by either.
func TestTheModeBehindAWordIsJudged(t *testing.T) {
	for _, c := range []struct {
		offered, wanted string
		mode            string // that is refused; empty: it is fine
	}{
		{bypassingOptions, "Agent (full access)", "agent-full-access"},
		{bypassingOptions, "AGENT (FULL ACCESS)", "agent-full-access"},
		{bypassingOptions, "agent-full-access", "agent-full-access"},
		{bypassingOptions, "x1", "x1"},
		{bypassingOptions, "Ask", ""},
		{bypassingOptions, "Go on", "agent"},                    // of Codex: its program says so
		{bypassingModes, "at my own risk", "bypassPermissions"}, // in which it is already
	} {
		for _, allowed := range []bool{false, true} {
			a := &agent{story: newTale(t, domain.Opening{}).story, launch: launch{name: "mine", mode: c.wanted, allowBypass: allowed}}
			a.launch.process.Argv = []string{"/opt/codex-acp"}
			a.story.established(readObject(json.RawMessage("{" + c.offered + "}")))
			found := a.story.offers(settingMode)[0].choice(c.wanted)
			err := a.judge(settingMode, found)
			if allowed || c.mode == "" {
				want(t, c.wanted, err, nil)
				continue
			}
			e := problem(t, err)
			want(t, c.wanted, e.Code, domain.CodeInvalid)
			want(t, "place", e.Details[0].Pointer, "/source/mode")
			want(t, "words", e.Message, `In the mode "`+c.mode+`", agent "mine" acts without asking anybody, and the registry `+
				`does not allow that.`)
			want(t, "before it is set", a.choose(t.Context(), settingMode, c.wanted).Error(), err.Error())
		}
	}
}

// TestSettingsAreReadLeniently: groups, unknown types and missing categories; options come before modes.
func TestSettingsAreReadLeniently(t *testing.T) {
	s := newTale(t, domain.Opening{}).story
	s.established(readObject(json.RawMessage(oddOptions)))
	want(t, "current", s.setting(settingMode)+" "+s.setting(settingModel), "code m1")
	offers := s.offers(settingMode)
	want(t, "offers", len(offers), 2)
	want(t, "found", fmt.Sprint(offers[0].find("plan"), offers[0].find("PLAN IT"), offers[0].find("x"), offers[1].find("Old")), "planplanlegacy")
	// The answer to a choice lists all options anew: one may change another.
	s.chosen(settingMode, offers[0], "plan", readObject(json.RawMessage(`{"configOptions":[
		{"id":"model","type":"select","currentValue":"m2","options":[]}]}`)))
	want(t, "model", s.setting(settingModel), "m2")
	s.chosen(settingMode, offers[1], "legacy", nil)
	want(t, "mode", s.setting(settingMode), "legacy")
}
