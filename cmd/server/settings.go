package main

import (
	"encoding/json"
	"maps"
	"slices"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

// settingSection is the section "settings": the defaults of requests.
type settingSection struct {
	DefaultTimeout         *int              `yaml:"defaultTimeout"`         // seconds of active time per turn; 0 = none
	DefaultApprovalTimeout *int              `yaml:"defaultApprovalTimeout"` // seconds; 0 = for ever
	DefaultRetry           *int              `yaml:"defaultRetry"`           // seconds for which a request to a model is repeated; 0 = it is not
	FallbackAfter          *int              `yaml:"fallbackAfter"`          // seconds until a model that is away makes room for a fallback; 0 = at once
	DefaultCapabilities    map[string]string `yaml:"defaultCapabilities"`    // class: deny, ask or allow
	DefaultShell           string            `yaml:"defaultShell"`
	BlockGeneration        *bool             `yaml:"blockGeneration"`
}

// blockType is a type that blocks of runbooks can have.
type blockType struct {
	Description string `yaml:"description"`
	Docs        string `yaml:"docs"`
	PropsSchema any    `yaml:"propsSchema"`
}

// openSettings reads the defaults of requests.
func (r registry) openSettings() (admission.Settings, error) {
	s := r.Settings
	shown := admission.Settings{
		TimeoutSeconds: s.DefaultTimeout, ApprovalTimeoutSeconds: s.DefaultApprovalTimeout, RetryForSeconds: s.DefaultRetry, Shell: s.DefaultShell,
		BlockGenerationOff: s.BlockGeneration != nil && !*s.BlockGeneration,
	}
	for name, seconds := range map[string]*int{
		"defaultTimeout": s.DefaultTimeout, "defaultApprovalTimeout": s.DefaultApprovalTimeout,
		"defaultRetry": s.DefaultRetry, "fallbackAfter": s.FallbackAfter,
	} {
		if seconds != nil && *seconds < 0 {
			return shown, r.mistake(domain.Invalid("/settings/"+name, "This is a number of seconds, at least 0."))
		}
	}
	capabilities, err := s.capabilities()
	if err != nil {
		return shown, r.mistake(err)
	}
	shown.Capabilities = &capabilities
	if shown.BlockTypes, err = r.openBlockTypes(); err != nil {
		return shown, r.mistake(err)
	}
	return shown, nil
}

// capabilities are the built-in ones, but for the classes that the operator names.
func (s settingSection) capabilities() (domain.Capabilities, error) {
	granted := domain.DefaultCapabilities
	into := map[string]*domain.Verdict{
		"read": &granted.Read, "write": &granted.Write, "execute": &granted.Execute,
		"network": &granted.Network, "mcp": &granted.MCP, "delegate": &granted.Delegate,
	}
	for _, class := range slices.Sorted(maps.Keys(s.DefaultCapabilities)) {
		verdict := domain.Verdict(s.DefaultCapabilities[class])
		at := domain.Pointer("settings", "defaultCapabilities", class)
		switch field, known := into[class]; {
		case !known:
			return granted, domain.Invalid(at, "There is no such class; there are read, write, execute, network, mcp, delegate.")
		case verdict != domain.Allow && verdict != domain.Ask && verdict != domain.Deny:
			return granted, domain.Invalid(at, "A class is one of deny, ask, allow.")
		default:
			*field = verdict
		}
	}
	return granted, nil
}

// openBlockTypes reads the types that the operator registered, sorted by name.
func (r registry) openBlockTypes() ([]domain.BlockType, error) {
	var types []domain.BlockType
	for _, name := range slices.Sorted(maps.Keys(r.BlockTypes)) {
		entry := r.BlockTypes[name]
		t := domain.BlockType{Type: name, Description: entry.Description, Docs: entry.Docs}
		if entry.PropsSchema != nil {
			schema, err := json.Marshal(entry.PropsSchema)
			if err != nil {
				return nil, domain.Invalid(domain.Pointer("blockTypes", name, "propsSchema"), "This is not a JSON Schema.").With(err)
			}
			t.PropsSchema = schema
		}
		if _, err := runbooks.Compile([]domain.BlockType{t}); err != nil {
			return nil, domain.Invalid(domain.Pointer("blockTypes", name), "%s", domain.FailureOf(err).Message).With(err)
		}
		types = append(types, t)
	}
	return types, nil
}
