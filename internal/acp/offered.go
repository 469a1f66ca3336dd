package acp

import (
	"reflect"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// tellOptions emits the options, where they have changed since they were emitted last.
func (t *translator) tellOptions() {
	if options := t.settings.List(); !reflect.DeepEqual(options, t.options) {
		t.options = options
		t.emit(domain.AgentOptionsUpdated{Turn: t.turn, Options: append([]domain.AgentOption{}, options...)})
	}
}

// chosen notes an accepted choice, and what the answer says of the others: a model may lack a mode.
func (t *translator) chosen(from settings.Option, value string, answer wire.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settings.SetCurrent(from, value)
	t.settings.ReadOptions(answer)
	if t.filter.phase == phaseLive {
		t.tellOptions()
	}
}

// established takes the answer that made the session or resumed it.
func (t *translator) established(answer wire.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settings.ReadSession(answer)
}

// currentSettings are a copy of what can be chosen, and is chosen.
func (t *translator) currentSettings() *settings.Settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.Clone()
}
