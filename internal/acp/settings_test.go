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
