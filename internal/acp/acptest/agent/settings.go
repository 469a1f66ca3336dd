package main

import (
	"encoding/json"
	"maps"
	"slices"
)

// offers puts modes, models and configOptions into the answer, as the command line says.
func (t *turn) offers() {
	if modes := t.agent.modes; len(modes) > 0 {
		t.result["modes"] = object{"currentModeId": t.session.setting("mode"), "availableModes": named("id", modes)}
	}
	if models := t.agent.models; len(models) > 0 {
		t.result["models"] = object{"currentModelId": t.session.setting("model"), "availableModels": named("modelId", models)}
	}
	if t.agent.config != "" {
		t.result["configOptions"] = t.configOptions()
	}
}

func named(key string, ids words) (list []object) {
	for _, id := range ids {
		list = append(list, object{key: id, "name": "The " + id})
	}
	return list
}

// configOptions is the full list, with current values.
func (t *turn) configOptions() []object {
	list := []object{}
	if t.session == nil {
		return list
	}
	for _, option := range []struct {
		id      string
		choices words
	}{{"mode", t.agent.modes}, {"model", t.agent.models}} {
		if len(option.choices) > 0 {
			list = append(list, object{
				"id": option.id, "name": "The " + option.id, "category": option.id, "type": "select",
				"currentValue": t.session.setting(option.id), "options": named("value", option.choices),
			})
		}
	}
	if t.agent.config == "effort" {
		list = append(list, object{
			"id": "effort", "name": "Effort", "description": "How long it thinks.", "category": "thought_level", "type": "select",
			"currentValue": t.session.or("effort", "low"), "options": named("value", t.efforts()),
		})
	}
	if t.agent.config == "odd" {
		list = append(list,
			object{"id": "verbose", "name": "Verbose", "type": "boolean", "currentValue": t.session.or("verbose", false)},
			object{"id": "speed", "name": "Speed", "type": "slider", "currentValue": t.session.or("speed", 3), "max": 5})
	}
	return list
}

// efforts are those of the current model: the first one cannot think for long.
func (t *turn) efforts() words {
	if len(t.agent.models) > 1 && string(t.session.setting("model")) != string(mustJSON(t.agent.models[0])) {
		return words{"low", "high", "max"}
	}
	return words{"low", "high"}
}

func (s *session) setting(id string) json.RawMessage { return s.or(id, nil) }

// or returns a setting, or instead.
func (s *session) or(id string, instead any) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, set := s.facts.Settings[id]; set {
		return value
	}
	return mustJSON(instead)
}

// set changes a setting. The map is replaced, since a copy of the old one may be on its way to the file.
func (s *session) set(id string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settings := maps.Clone(s.facts.Settings)
	if settings == nil {
		settings = map[string]json.RawMessage{}
	}
	settings[id] = mustJSON(value)
	s.facts.Settings = settings
}

func (t *turn) setMode() error  { return t.choose("mode", "modeId", t.agent.modes) }
func (t *turn) setModel() error { return t.choose("model", "modelId", t.agent.models) }

// choose sets what the field of the request names. Where choices were offered it has to be one of them.
func (t *turn) choose(id, field string, choices words) error {
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(t.params, &asked); err != nil || t.session == nil {
		return failed(codeInvalidParams, "Session not found: %s", t.sessionID)
	}
	if err := among(choices, asked[field]); err != nil {
		return err
	}
	t.session.set(id, asked[field])
	return nil
}

func among(choices words, value json.RawMessage) error {
	var chosen string
	if err := json.Unmarshal(value, &chosen); err != nil {
		return failed(codeInvalidParams, "nothing was chosen")
	}
	if len(choices) > 0 && !slices.Contains(choices, chosen) {
		return failed(codeInvalidParams, "%q was not offered", chosen)
	}
	return nil
}

func (t *turn) setConfigOption() error {
	var asked struct {
		ConfigID string          `json:"configId"`
		Value    json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(t.params, &asked); err != nil || t.session == nil {
		return failed(codeInvalidParams, "Session not found: %s", t.sessionID)
	}
	switch asked.ConfigID {
	case "mode", "model":
		choices := map[string]words{"mode": t.agent.modes, "model": t.agent.models}[asked.ConfigID]
		if err := among(choices, asked.Value); err != nil {
			return err
		}
	case "effort":
		if err := among(t.efforts(), asked.Value); err != nil {
			return err
		}
	case "verbose", "speed":
	default:
		return failed(codeInvalidParams, "unknown option %q", asked.ConfigID)
	}
	t.session.set(asked.ConfigID, asked.Value)
	t.result["configOptions"] = t.configOptions()
	return nil
}
