package acp

import (
	"reflect"

	"signoff/internal/domain"
)

// tellOptions tells what can be chosen, where that is not as it was told before.
func (s *story) tellOptions() {
	if options := s.settings.listed(); !reflect.DeepEqual(options, s.options) {
		s.options = options
		s.emit(domain.AgentOptionsUpdated{Turn: s.turn, Options: append([]domain.AgentOption{}, options...)})
	}
}

// listed lists all that can be chosen.
func (s *story) listed() []domain.AgentOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.listed()
}

func (s *story) offers(option string) []offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.offers(option)
}

// chosen notes an accepted choice, and what the answer says of the others: a model may lack a mode.
func (s *story) chosen(from offer, value string, answer object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.chosen(from, value)
	s.settings.readOptions(answer)
	if s.intake.phase == phaseLive {
		s.tellOptions()
	}
}

// established takes the answer that made the session or took it up.
func (s *story) established(answer object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.established(answer)
}

// setting is what the agent works with.
func (s *story) setting(category string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.current(category)
}

// effective are the selections that count, in the order in which they are set.
func (s *story) effective(selections []selection) ([]selection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.effective(selections)
}
