package acp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
)

// selection is a value that an option of the agent is to have.
type selection struct {
	option  string // its id, or its category; see settings.offers
	value   string // or its name
	pointer string // the place of a request that selects it
	level   int    // for one option, the highest level counts; what a request says twice on one level must agree
}

// Levels of selections; those of prompts follow.
const (
	levelRegistry = iota
	levelRequest
	levelPrompts
)

// selectionsOf are the options of a part of a request, in the order of their ids.
func selectionsOf(options map[string]string, pointer string, level int) (all []selection) {
	for _, id := range slices.Sorted(maps.Keys(options)) {
		all = append(all, selection{option: id, value: options[id], pointer: pointer + domain.Pointer(id), level: level})
	}
	return all
}

// sourceSelections are those of an execution's source.
func sourceSelections(source domain.Source) []selection {
	all := selectionsOf(source.Options, "/source/options", levelRequest)
	for _, named := range []struct{ option, value string }{{categoryMode, source.Mode}, {categoryModel, source.Model}} {
		if named.value != "" {
			all = append(all, selection{option: named.option, value: named.value, pointer: "/source/" + named.option, level: levelRequest})
		}
	}
	return all
}

// configure brings the session to what was selected for it, before anything is asked of it.
func (a *agent) configure(ctx context.Context) error { return a.choose(ctx, a.launch.selections) }

// takeOptions sets the options of a prompt. Those of a turn that was cancelled over it are set with the next one, since they
// hold from their turn on; those that the agent does not take hold nowhere.
func (a *agent) takeOptions(ctx context.Context, options map[string]string) error {
	a.unset = a.unset.With(options)
	var selections []selection
	for i, options := range a.unset {
		selections = append(selections, selectionsOf(options, "/options", levelPrompts+i)...)
	}
	err := a.choose(ctx, selections)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.unset = nil
	return err
}

// choose sets options. The model goes first, since it decides what else there is to choose from, and then the mode. Where
// one cannot be set, those before it are set back: a turn that is not taken must not leave half of its options behind.
func (a *agent) choose(ctx context.Context, selections []selection) error {
	effective, err := a.story.effective(selections)
	if err != nil {
		return err
	}
	var before []offer
	for _, wanted := range effective {
		set, err := a.chooseOne(ctx, wanted)
		if set != nil {
			before = append(before, *set)
		}
		if err != nil && domain.CodeOf(err) == domain.CodeInvalid {
			a.setBack(before)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chooseOne sets an option, and returns it as it was before; nil where nothing was asked of the agent.
func (a *agent) chooseOne(ctx context.Context, wanted selection) (before *offer, err error) {
	for _, from := range a.story.offers(wanted.option) {
		found := from.choice(wanted.value)
		if found.Value == "" {
			continue
		}
		if !a.launch.allowBypass {
			if err := judge(a.launch.name, a.launch.process.Argv, wanted, from, found); err != nil {
				return nil, err
			}
		}
		if found.Value == from.Current {
			return nil, nil
		}
		return &from, a.set(ctx, wanted, from, found.Value)
	}
	return nil, notOffered(wanted, a.story.listed())
}

// judge looks at what a value stands for with this agent. The word alone was judged before the agent was started, and
// "Agent (full access)" seemed to be none of the modes that ask nobody.
func judge(agent string, argv []string, wanted selection, option offer, found domain.AgentChoice) error {
	for _, word := range []string{found.Value, found.Name} {
		if bypassOption(agent, argv, option.AgentOption, word) {
			return bypassRefused(wanted, agent, found.Value)
		}
	}
	return nil
}

func (a *agent) set(ctx context.Context, wanted selection, from offer, value string) error {
	method, params := "session/set_config_option", map[string]any{"sessionId": a.session, "configId": from.ID, "value": value}
	if from.legacy {
		method, params = "session/set_"+from.ID, map[string]any{"sessionId": a.session, from.ID + "Id": value}
	}
	limited, stop := context.WithTimeoutCause(ctx, a.launch.sessionTimeout(), errSlow)
	defer stop()
	answer, err := a.peer.call(limited, method, params)
	var refused *acp.RequestError
	if errors.As(err, &refused) && refused.Code != errorAuthRequired {
		return domain.Invalid(wanted.pointer, "The agent refuses %s. It answered: %s (code %d). It offers: %s.",
			wanted, a.wording(refused), refused.Code, valuesOf(from.AgentOption))
	}
	if err != nil {
		return a.explain(ctx, method, err)
	}
	a.story.chosen(from, value, a.withoutSecrets(readObject(answer)))
	return nil
}

// settingBack bounds how long options are set back.
const settingBack = 5 * time.Second

// setBack gives options the values that they had, the last one first, as far as the agent takes them. What it has refused to
// set is among them: it may have set it all the same.
func (a *agent) setBack(before []offer) {
	if len(before) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(a.life, settingBack)
	defer cancel()
	for _, was := range slices.Backward(before) {
		_ = a.set(ctx, selection{option: was.ID, value: was.Current}, was, was.Current) // the refusal before says more
	}
}

// effective are the selections that count, in the order in which they are set.
func (s *story) effective(selections []selection) ([]selection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.effective(selections)
}

func (s *settings) effective(selections []selection) ([]selection, error) {
	chosen := map[string]selection{} // by the option that it is about
	for _, one := range selections {
		about := s.about(one.option)
		other, double := chosen[about]
		if double && other.level == one.level && !s.same(one, other) {
			return nil, contradiction(one, other)
		}
		if !double || other.level < one.level {
			chosen[about] = one
		}
	}
	return slices.SortedFunc(maps.Values(chosen), func(x, y selection) int {
		return cmp.Or(cmp.Compare(s.rank(x), s.rank(y)), strings.Compare(x.option, y.option))
	}), nil
}

// same tells whether two selections of one option come to the same: one may name what the other has the id of.
func (s *settings) same(one, other selection) bool {
	if one.value == other.value {
		return true
	}
	for _, from := range s.offers(one.option) {
		if found := from.choice(one.value).Value; found != "" {
			return found == from.choice(other.value).Value
		}
	}
	return false
}

func contradiction(one, other selection) error {
	return domain.Invalid(one.pointer, "It contradicts %s: both are about one option of the agent, %q and %q.",
		other.pointer, beginning(one.value, 100), beginning(other.value, 100))
}

// about is the option that an id or a category means: modes and models may be listed under several ids.
func (s *settings) about(option string) string {
	offers := s.offers(option)
	switch {
	case len(offers) == 0:
		return option
	case offers[0].Category == categoryMode || offers[0].Category == categoryModel:
		return offers[0].Category
	default:
		return offers[0].ID
	}
}

func (s *settings) rank(one selection) int {
	switch s.about(one.option) {
	case categoryModel:
		return 0
	case categoryMode:
		return 1
	default:
		return 2
	}
}

// String names the selection in a message.
func (s selection) String() string {
	value := beginning(s.value, 100)
	if s.option == categoryMode || s.option == categoryModel {
		return `the ` + s.option + ` "` + value + `"`
	}
	return `the value "` + value + `" of the option "` + beginning(s.option, 100) + `"`
}

// notOffered tells that an agent with these options does not offer what was selected.
func notOffered(wanted selection, options []domain.AgentOption) error {
	var ids []string
	for _, option := range options {
		if ids = append(ids, option.ID); option.ID == wanted.option || option.Category == wanted.option {
			return domain.Invalid(wanted.pointer, "The agent does not offer %s. It offers: %s.", wanted, valuesOf(option))
		}
	}
	if wanted.option == categoryMode || wanted.option == categoryModel {
		return domain.Invalid(wanted.pointer, "The agent offers no choice of %s, so %q cannot be set.", wanted.option, beginning(wanted.value, 100))
	}
	return domain.Invalid(wanted.pointer, "The agent has no option %q. It has: %s.",
		beginning(wanted.option, 100), cmp.Or(beginning(strings.Join(ids, ", "), 2000), "none"))
}

func valuesOf(option domain.AgentOption) string {
	var values []string
	for _, c := range option.Choices {
		values = append(values, c.Value)
	}
	return cmp.Or(beginning(strings.Join(values, ", "), 2000), "nothing")
}

// settingsOf are the settings of an agent that has offered these options.
func settingsOf(options []domain.AgentOption) *settings {
	s := &settings{}
	for _, option := range options {
		s.options = append(s.options, offer{AgentOption: option})
	}
	return s
}

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
		if err := judge(r.name, r.argv(), wanted, offers[at], found); err != nil && !r.AllowBypass {
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
