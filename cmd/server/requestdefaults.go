package main

import (
	"encoding/json"
	"maps"
	"slices"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

// openSettings reads the defaults of requests.
func (f configFile) openSettings() (admission.Settings, error) {
	s := f.Settings
	shown := admission.Settings{
		TimeoutSeconds: s.DefaultTimeout, ApprovalTimeoutSeconds: s.DefaultApprovalTimeout, RetryForSeconds: s.DefaultRetry, Shell: s.DefaultShell,
		BlockGenerationOff: s.BlockGeneration != nil && !*s.BlockGeneration,
	}
	for name, seconds := range map[string]*int{
		"defaultTimeout": s.DefaultTimeout, "defaultApprovalTimeout": s.DefaultApprovalTimeout,
		"defaultRetry": s.DefaultRetry, "fallbackAfter": s.FallbackAfter,
	} {
		if seconds != nil && *seconds < 0 {
			return shown, f.mistake(domain.Invalid("/settings/"+name, "This is a number of seconds, at least 0."))
		}
	}
	switch mode := domain.CheckpointMode(s.DefaultCheckpoints); mode {
	case "", domain.CheckpointsRequired, domain.CheckpointsBestEffort, domain.CheckpointsOff:
		shown.Checkpoints = mode
	default:
		return shown, f.mistake(domain.Invalid("/settings/defaultCheckpoints", "This is one of required, bestEffort, off."))
	}
	capabilities, err := s.capabilities()
	if err != nil {
		return shown, f.mistake(err)
	}
	shown.Capabilities = &capabilities
	if shown.BlockTypes, err = f.openBlockTypes(); err != nil {
		return shown, f.mistake(err)
	}
	return shown, nil
}

// capabilities are the built-in ones, but for the classes that the operator names.
func (s settingSection) capabilities() (domain.Capabilities, error) {
	granted := domain.DefaultCapabilities
	into := map[string]*domain.Verdict{
		"read": &granted.Read, "write": &granted.Write, "execute": &granted.Execute,
		"network": &granted.Network, "mcp": &granted.MCP, "delegate": &granted.Delegate,
		"host": &granted.Host,
	}
	for _, class := range slices.Sorted(maps.Keys(s.DefaultCapabilities)) {
		verdict := domain.Verdict(s.DefaultCapabilities[class])
		at := domain.Pointer("settings", "defaultCapabilities", class)
		switch field, known := into[class]; {
		case !known:
			return granted, domain.Invalid(at, "There is no such class; there are read, write, execute, network, mcp, delegate, host.")
		case verdict != domain.Allow && verdict != domain.Ask && verdict != domain.Deny:
			return granted, domain.Invalid(at, "A class is one of deny, ask, allow.")
		case class == string(domain.ClassHost) && verdict == domain.Allow:
			return granted, domain.Invalid(at, "host is deny or ask: nothing but the allow patterns of an environment lets commands run on the host without a question.")
		default:
			*field = verdict
		}
	}
	return granted, nil
}

// openBlockTypes reads the types that the operator registered, sorted by name.
func (f configFile) openBlockTypes() ([]domain.BlockType, error) {
	var types []domain.BlockType
	for _, name := range slices.Sorted(maps.Keys(f.BlockTypes)) {
		entry := f.BlockTypes[name]
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
