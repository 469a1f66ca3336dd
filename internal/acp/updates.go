package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// translate tells what one update means. Unknown kinds are passed on: the protocol gets new ones every few months.
func (s *translator) translate(raw json.RawMessage) {
	update := wire.ReadObject(raw)
	switch kind := update.Text("sessionUpdate"); kind {
	case "agent_message_chunk":
		s.chunk(kind, false, update, raw)
	case "agent_thought_chunk":
		s.chunk(kind, true, update, raw)
	case "tool_call", "tool_call_update":
		s.callUpdated(kind, update, raw)
	case "plan":
		s.closeMessage(false)
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
func (s *translator) chunk(kind string, thought bool, update wire.Object, raw json.RawMessage) {
	content := update.Object("content")
	if content.Text("type") == "text" {
		s.addText(thought, update.Text("messageId"), content.Text("text"))
	}
	if usage := update.Object("_meta").Object("usage"); usage != nil && content.Text("text") == "" {
		s.usage.addAnswer(usage)
		s.tellUsage()
	}
	plain := content.Text("type") == "text" && content.Only("type", "text") &&
		update.Only("sessionUpdate", "content", "messageId")
	if !plain {
		s.pass(kind, raw)
	}
}

// planEntries reads what can be read of a plan.
func planEntries(update wire.Object) []domain.PlanEntry {
	entries := []domain.PlanEntry{}
	for _, entry := range update.Objects("entries") {
		entries = append(entries, domain.PlanEntry{
			Content: entry.Text("content"), Priority: entry.Text("priority"), Status: entry.Text("status"),
		})
	}
	return entries
}

// settingChanged tells of a change of mode as what it is, whichever way the agent says it.
func (s *translator) settingChanged(kind string, update wire.Object, raw json.RawMessage) {
	if kind == "current_mode_update" && cmp.Or(update.Text("currentModeId"), update.Text("modeId")) == "" {
		s.malformed(raw)
		return
	}
	before := s.settings.Current(settings.CategoryMode)
	s.settings.ReadUpdate(kind, update)
	mode := s.settings.Current(settings.CategoryMode)
	defer s.tellOptions() // behind the change that they follow from
	if kind == "current_mode_update" || mode != before {
		s.emit(domain.AgentModeChanged{Turn: s.turn, Mode: mode, Update: raw})
		return
	}
	s.pass(kind, raw)
}

// extension takes a notification that the protocol does not know. Vendors tell of limits and usage that way.
func (s *translator) extension(method string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(params) == 0 {
		params = json.RawMessage("null")
	}
	p := wire.ReadObject(params)
	switch name := strings.ToLower(method); {
	case strings.Contains(name, "ratelimit") || p.Has("rateLimits"):
		s.emit(domain.RateLimitUpdated{Turn: s.turn, Update: params})
		return
	case strings.Contains(name, "tokenusage") || p.Has("tokenUsage"):
		s.usage.stated = statedUsage(p)
		s.tellUsage()
	}
	s.pass(method, params)
}

// tellUsage tells the sum, where there is one.
func (s *translator) tellUsage() {
	if total := s.usage.total(); total != s.usage.before {
		s.emit(domain.UsageUpdated{Usage: total})
	}
}

// result takes the answer of a prompt: what it tells beside the stop reason is passed on.
func (s *translator) result(raw json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := wire.ReadObject(raw)
	usage := answer.Object("usage")
	if usage == nil {
		usage = answer.Object("_meta").Object("quota").Object("token_count") // as Gemini CLI tells it
	}
	if usage != nil {
		s.usage.add(usage)
		s.tellUsage()
	}
	if len(answer) > 0 && !answer.Only("stopReason") {
		s.pass("promptResult", raw)
	}
}
