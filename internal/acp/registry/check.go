package registry

import (
	"slices"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
)

// checkOffered holds selections against what an agent has offered. With another model there may be other modes and values, which
// only the agent knows; so where another one is selected, nothing behind it is held against the offers.
func (a *agent) checkOffered(selections []settings.Selection, offered []domain.AgentOption) error {
	s := settings.Of(offered)
	effective, err := s.Effective(selections)
	if err != nil {
		return err
	}
	for _, wanted := range effective {
		offers := s.Offers(wanted.Option)
		at := slices.IndexFunc(offers, func(o settings.Option) bool { return o.Choice(wanted.Value).Value != "" })
		if at < 0 {
			return settings.NotOffered(wanted, offered)
		}
		found := offers[at].Choice(wanted.Value)
		if err := a.judge(wanted, offers[at], found); err != nil {
			return err
		}
		if s.Rank(wanted) == 0 && found.Value != offers[at].Current {
			return nil
		}
	}
	return nil
}

// checkWords holds selections against what is known without the agent: the words of modes that ask nobody.
func (a *agent) checkWords(selections []settings.Selection) error {
	for _, wanted := range selections {
		option := domain.AgentOption{ID: wanted.Option, Category: wanted.Option}
		if !a.AllowBypass && bypassOption(a.name, a.argv(), option, wanted.Value) {
			return bypassRefused(wanted, a.name, wanted.Value)
		}
	}
	return nil
}

// judge looks at what a value stands for with this agent. The word alone was judged before the agent was started, and
// "Agent (full access)" seemed to be none of the modes that ask nobody.
func (a *agent) judge(wanted settings.Selection, option settings.Option, found domain.AgentChoice) error {
	if a.AllowBypass {
		return nil
	}
	for _, word := range []string{found.Value, found.Name} {
		if bypassOption(a.name, a.argv(), option.AgentOption, word) {
			return bypassRefused(wanted, a.name, found.Value)
		}
	}
	return nil
}
