package main

import (
	"strings"
	"testing"
	"time"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/secrets"
)

func settingsOf(t *testing.T, text string) (admission.Settings, error) {
	t.Helper()
	read, err := written(t, text+"\nmodels: {demo: {provider: demo}}\n").readConfigFile()
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

// TestTheModeOfCheckpointsNeedsNoQuotes: in YAML 1.1, a bare off is a boolean.
func TestTheModeOfCheckpointsNeedsNoQuotes(t *testing.T) {
	for text, want := range map[string]domain.CheckpointMode{
		"off": domain.CheckpointsOff, "'off'": domain.CheckpointsOff, "bestEffort": domain.CheckpointsBestEffort, "required": domain.CheckpointsRequired,
	} {
		if s, err := settingsOf(t, "settings:\n  defaultCheckpoints: "+text+"\n"); err != nil || s.Checkpoints != want {
			t.Errorf("%s: %q, %v", text, s.Checkpoints, err)
		}
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
		"settings: {defaultCapabilities: {host: allow}}":               "host is deny or ask",
		"settings: {defaultCheckpoints: sometimes}":                    "required, bestEffort, off",
		"settings: {defaultCheckpoints: false}":                        "required, bestEffort, off",
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

// TestWhatRequestsMayName is what package http asks the registries of the server.
func TestWhatRequestsMayName(t *testing.T) {
	vault, err := secrets.NewVault(secrets.Secret{Name: "db", Variable: "DB", Value: "the-value-of-db"})
	if err != nil {
		t.Fatal(err)
	}
	if err := (knownSecrets{vault}).Check([]string{"db"}); err != nil {
		t.Error(err)
	}
	for says, known := range map[string]*secrets.Vault{"there are db.": vault, "no secrets configured": {}} {
		if err := (knownSecrets{known}).Check([]string{"db2"}); domain.CodeOf(err) != domain.CodeUnknownSecret || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	five := 5.0
	priced := models{entries: map[string]model{"both": {InputCostPer1m: &five, OutputCostPer1m: &five}, "one": {InputCostPer1m: &five}}}
	if !priced.Priced("both") || priced.Priced("one") || priced.Priced("none") {
		t.Error("a model is priced where both its prices are known")
	}
	none, some := 0, 7
	if orNone(nil) != 0 || orNone(&none) >= 0 || orNone(&some) != 7*time.Second {
		t.Error("0 seconds are none at all, and what is not said is the default")
	}
}
