package acp

import (
	"reflect"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// tellOptions tells what can be chosen, where that is not as it was told before.
func (t *translator) tellOptions() {
	if options := t.settings.List(); !reflect.DeepEqual(options, t.options) {
		t.options = options
		t.emit(domain.AgentOptionsUpdated{Turn: t.turn, Options: append([]domain.AgentOption{}, options...)})
	}
}

// listed lists all that can be chosen.
func (t *translator) listed() []domain.AgentOption {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.List()
}

func (t *translator) offers(option string) []settings.Option {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.Offers(option)
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

// setting is what the agent works with.
func (t *translator) setting(category string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.Current(category)
}

// effective are the selections that count, in the order in which they are set.
func (t *translator) effective(selections []settings.Selection) ([]settings.Selection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings.Effective(selections)
}
