package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// take tells what one update means. Unknown kinds are passed on: the protocol gets new ones every few months.
func (s *story) take(raw json.RawMessage) {
	update := readObject(raw)
	switch kind := update.text("sessionUpdate"); kind {
	case "agent_message_chunk":
		s.chunk(kind, false, update, raw)
	case "agent_thought_chunk":
		s.chunk(kind, true, update, raw)
	case "tool_call", "tool_call_update":
		s.callUpdated(kind, update, raw)
	case "plan":
		s.hush(false)
		s.emit(domain.PlanUpdated{Turn: s.turn, Entries: planEntries(update), Update: raw})
	case "available_commands_update":
		s.emit(domain.CommandsUpdated{Turn: s.turn, Update: raw})
	case "current_mode_update", "config_option_update":
		s.settingChanged(kind, update, raw)
	case "usage_update":
		s.usage.state(update)
		s.tellUsage()
		s.pass(kind, raw)
	case "":
		s.malformed(raw)
	default:
		s.pass(kind, raw)
	}
}

// chunk tells the text of a chunk, and passes on the chunk itself where it is more than text.
func (s *story) chunk(kind string, thought bool, update object, raw json.RawMessage) {
	content := update.object("content")
	if content.text("type") == "text" {
		s.say(thought, update.text("messageId"), content.text("text"))
	}
	if usage := update.object("_meta").object("usage"); usage != nil && content.text("text") == "" {
		s.usage.addAnswer(usage)
		s.tellUsage()
	}
	plain := content.text("type") == "text" && content.only("type", "text") &&
		update.only("sessionUpdate", "content", "messageId")
	if !plain {
		s.pass(kind, raw)
	}
}

// planEntries reads what can be read of a plan.
func planEntries(update object) []domain.PlanEntry {
	entries := []domain.PlanEntry{}
	for _, entry := range update.objects("entries") {
		entries = append(entries, domain.PlanEntry{
			Content: entry.text("content"), Priority: entry.text("priority"), Status: entry.text("status"),
		})
	}
	return entries
}

// settingChanged tells of a change of mode as what it is, whichever way the agent says it.
func (s *story) settingChanged(kind string, update object, raw json.RawMessage) {
	if kind == "current_mode_update" && cmp.Or(update.text("currentModeId"), update.text("modeId")) == "" {
		s.malformed(raw)
		return
	}
	before := s.settings.current(categoryMode)
	s.settings.learn(kind, update)
	mode := s.settings.current(categoryMode)
	defer s.tellOptions() // behind the change that they follow from
	if kind == "current_mode_update" || mode != before {
		s.emit(domain.AgentModeChanged{Turn: s.turn, Mode: mode, Update: raw})
		return
	}
	s.pass(kind, raw)
}

// extension takes a notification that the protocol does not know. Vendors tell of limits and usage that way.
func (s *story) extension(method string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(params) == 0 {
		params = json.RawMessage("null")
	}
	p := readObject(params)
	switch name := strings.ToLower(method); {
	case strings.Contains(name, "ratelimit") || p.has("rateLimits"):
		s.emit(domain.RateLimitUpdated{Turn: s.turn, Update: params})
		return
	case strings.Contains(name, "tokenusage") || p.has("tokenUsage"):
		s.usage.stated = statedUsage(p)
		s.tellUsage()
	}
	s.pass(method, params)
}
