package main

import (
	"strings"
	"testing"

	"signoff/internal/admission"
	"signoff/internal/domain"
)

func settingsOf(t *testing.T, text string) (admission.Settings, error) {
	t.Helper()
	read, err := written(t, text+"\nmodels: {demo: {provider: demo}}\n").readRegistry()
	if err != nil {
		return admission.Settings{}, err
	}
	return read.openSettings()
}

func TestSettingsOfTheFile(t *testing.T) {
	s, err := settingsOf(t, `
settings:
  defaultTimeout: 0
  defaultApprovalTimeout: 60
  defaultRetry: 90
  defaultCapabilities: {read: ask, write: deny}
  defaultShell: zsh
  blockGeneration: false
blockTypes:
  script: {description: Runs a script, docs: "# Script", propsSchema: {type: object, required: [code]}}
  editor: {}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := domain.DefaultCapabilities
	want.Read, want.Write = domain.Ask, domain.Deny
	if *s.TimeoutSeconds != 0 || *s.ApprovalTimeoutSeconds != 60 || *s.RetryForSeconds != 90 || *s.Capabilities != want || s.Shell != "zsh" || !s.BlockGenerationOff {
		t.Errorf("%+v", s)
	}
	if len(s.BlockTypes) != 2 || s.BlockTypes[0].Type != "editor" || string(s.BlockTypes[1].PropsSchema) != `{"required":["code"],"type":"object"}` {
		t.Errorf("%+v", s.BlockTypes)
	}
}

func TestNoSettings(t *testing.T) {
	s, err := settingsOf(t, "")
	if err != nil || s.TimeoutSeconds != nil || *s.Capabilities != domain.DefaultCapabilities || s.BlockGenerationOff || s.BlockTypes != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"settings: {defaultTimeout: -1}":                               "settings.defaultTimeout",
		"settings: {defaultRetry: -1}":                                 "settings.defaultRetry",
		"settings: {fallbackAfter: -1}":                                "settings.fallbackAfter",
		"settings: {defaultTimeout: soon}":                             "signoff.yaml",
		"settings: {defaultCapabilities: {fly: allow}}":                "settings.defaultCapabilities.fly",
		"settings: {defaultCapabilities: {read: sometimes}}":           "deny, ask, allow",
		"settings: {nonsense: 1}":                                      "nonsense",
		"blockTypes: {script: {propsSchema: {type: 7}}}":               "blockTypes.script",
		"blockTypes: {script: {propsSchema: {$ref: 'file:///etc/a'}}}": "blockTypes.script",
		"blockTypes: {'': {}}":                                         "blockTypes",
	} {
		if _, err := settingsOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}
