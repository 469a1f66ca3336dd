package acp

import (
	"slices"

	"signoff/internal/domain"
)

// checkOffered holds selections against what an agent has offered. With another model there may be other modes and values, which
// only the agent knows; so where another one is selected, nothing behind it is held against the offers.
func (r *row) checkOffered(selections []selection, offered []domain.AgentOption) error {
	s := settingsOf(offered)
	effective, err := s.effective(selections)
	if err != nil {
		return err
	}
	for _, wanted := range effective {
		offers := s.offers(wanted.option)
		at := slices.IndexFunc(offers, func(o offer) bool { return o.choice(wanted.value).Value != "" })
		if at < 0 {
			return notOffered(wanted, offered)
		}
		found := offers[at].choice(wanted.value)
		if err := r.judge(wanted, offers[at], found); err != nil {
			return err
		}
		if s.rank(wanted) == 0 && found.Value != offers[at].Current {
			return nil
		}
	}
	return nil
}

// checkWords holds selections against what is known without the agent: the words of modes that ask nobody.
func (r *row) checkWords(selections []selection) error {
	for _, wanted := range selections {
		option := domain.AgentOption{ID: wanted.option, Category: wanted.option}
		if !r.AllowBypass && bypassOption(r.name, r.argv(), option, wanted.value) {
			return bypassRefused(wanted, r.name, wanted.value)
		}
	}
	return nil
}

// judge looks at what a value stands for with this agent. The word alone was judged before the agent was started, and
// "Agent (full access)" seemed to be none of the modes that ask nobody.
func (r *row) judge(wanted selection, option offer, found domain.AgentChoice) error {
	if r.AllowBypass {
		return nil
	}
	for _, word := range []string{found.Value, found.Name} {
		if bypassOption(r.name, r.argv(), option.AgentOption, word) {
			return bypassRefused(wanted, r.name, found.Value)
		}
	}
	return nil
}
