package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// translate emits the events of one update. Unknown kinds are passed on: the protocol gets new ones every few months.
func (t *translator) translate(raw json.RawMessage) {
	update := wire.ReadObject(raw)
	switch kind := update.Text("sessionUpdate"); kind {
	case "agent_message_chunk":
		t.chunk(kind, false, update, raw)
	case "agent_thought_chunk":
		t.chunk(kind, true, update, raw)
	case "user_message_chunk":
		t.pass(kind, withoutEcho(update, raw))
	case "tool_call", "tool_call_update":
		t.callUpdated(nil, kind, update, raw)
	case "subagent_update":
		t.subagentUpdated(nil, update, raw)
	case "plan":
		t.closeMessage(false)
		t.emit(domain.PlanUpdated{Turn: t.turn, Entries: planEntries(update), Update: raw})
	case "available_commands_update":
		t.emit(domain.CommandsUpdated{Turn: t.turn, Update: raw})
	case "current_mode_update", "config_option_update":
		t.settingChanged(kind, update, raw)
	case "usage_update":
		t.usage.state(update)
		t.tellUsage()
		t.pass(kind, raw)
	case "":
		t.malformed(raw)
	default:
		t.pass(kind, raw)
	}
}

// chunk tells the text of a chunk, and passes on the chunk itself where it is more than text. Text of a subagent is no answer of the agent.
func (t *translator) chunk(kind string, thought bool, update wire.Object, raw json.RawMessage) {
	content, parent := update.Object("content"), t.parentInMeta(update)
	switch {
	case content.Text("type") != "text":
	case parent == nil:
		t.addText(thought, update.Text("messageId"), content.Text("text"))
	case !thought && !parent.ended:
		t.print(parent, content.Text("text"))
	}
	if usage := update.Object("_meta").Object("usage"); usage != nil && content.Text("text") == "" {
		t.usage.answers = t.usage.answers.Add(readUsage(usage)) // of one answer of the model
		t.tellUsage()
	}
	plain := content.Text("type") == "text" && content.Only("type", "text") &&
		update.Only("sessionUpdate", "content", "messageId")
	if !plain {
		t.passBelow(parent, kind, raw)
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

// settingChanged emits a change of mode as such, in whichever form the agent reports it.
func (t *translator) settingChanged(kind string, update wire.Object, raw json.RawMessage) {
	if kind == "current_mode_update" && cmp.Or(update.Text("currentModeId"), update.Text("modeId")) == "" {
		t.malformed(raw)
		return
	}
	before := t.settings.Current(settings.CategoryMode)
	t.settings.ReadUpdate(kind, update)
	mode := t.settings.Current(settings.CategoryMode)
	defer t.tellOptions() // behind the change that they follow from
	if kind == "current_mode_update" || mode != before {
		t.emit(domain.AgentModeChanged{Turn: t.turn, Mode: mode, Update: raw})
		return
	}
	t.pass(kind, raw)
}

// extension takes a notification that the protocol does not know. Vendors tell of limits and usage that way.
func (t *translator) extension(method string, params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(params) == 0 {
		params = json.RawMessage("null")
	}
	p := wire.ReadObject(params)
	switch name := strings.ToLower(method); {
	case tellsLimits(method, p):
		t.emit(t.limitsUpdated(p, params))
		return
	case strings.Contains(name, "tokenusage") || p.Has("tokenUsage"):
		t.usage.stated = statedUsage(p)
		t.tellUsage()
	}
	t.pass(method, params)
}

// tellUsage tells the sum, where there is one.
func (t *translator) tellUsage() {
	if total := t.usage.total(); total != t.usage.before {
		t.emit(domain.UsageUpdated{Usage: total})
	}
}

// result takes the answer of a prompt: what it tells beside the stop reason is passed on.
func (t *translator) result(raw json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer := wire.ReadObject(raw)
	usage := answer.Object("usage")
	if usage == nil {
		usage = answer.Object("_meta").Object("quota").Object("token_count") // Gemini CLI
	}
	if usage != nil {
		t.usage.turns = t.usage.turns.Add(readUsage(usage))
		t.tellUsage()
	}
	if len(answer) > 0 && !answer.Only("stopReason") {
		t.pass("promptResult", raw)
	}
}
