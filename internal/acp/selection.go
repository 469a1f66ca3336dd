package acp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// effective are the selections that count, in the order in which they are set: the model, the mode, then the rest.
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
