package acp

import (
	"reflect"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// tellOptions tells what can be chosen, where that is not as it was told before.
func (s *translator) tellOptions() {
	if options := s.settings.List(); !reflect.DeepEqual(options, s.options) {
		s.options = options
		s.emit(domain.AgentOptionsUpdated{Turn: s.turn, Options: append([]domain.AgentOption{}, options...)})
	}
}

// listed lists all that can be chosen.
func (s *translator) listed() []domain.AgentOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.List()
}

func (s *translator) offers(option string) []settings.Option {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Offers(option)
}

// chosen notes an accepted choice, and what the answer says of the others: a model may lack a mode.
func (s *translator) chosen(from settings.Option, value string, answer wire.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.SetCurrent(from, value)
	s.settings.ReadOptions(answer)
	if s.filter.phase == phaseLive {
		s.tellOptions()
	}
}

// established takes the answer that made the session or took it up.
func (s *translator) established(answer wire.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.ReadSession(answer)
}

// setting is what the agent works with.
func (s *translator) setting(category string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Current(category)
}

// effective are the selections that count, in the order in which they are set.
func (s *translator) effective(selections []settings.Selection) ([]settings.Selection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Effective(selections)
}
