package settings

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Selection is a value that an option of the agent is to have.
type Selection struct {
	Option  string // its id, or its category; see settings.offers
	Value   string // or its name
	Pointer string // the place of a request that selects it
	Level   int    // for one option, the highest level counts; what a request says twice on one level must agree
}

// Levels of selections; those of prompts follow.
const (
	LevelRegistry = iota
	LevelRequest
	LevelPrompts
)

// Selections are the options of a part of a request, in the order of their ids.
func Selections(options map[string]string, pointer string, level int) (all []Selection) {
	for _, id := range slices.Sorted(maps.Keys(options)) {
		all = append(all, Selection{Option: id, Value: options[id], Pointer: pointer + domain.Pointer(id), Level: level})
	}
	return all
}

// SourceSelections are those of an execution's source.
func SourceSelections(source domain.Source) []Selection {
	all := Selections(source.Options, "/source/options", LevelRequest)
	for _, named := range []struct{ option, value string }{{CategoryMode, source.Mode}, {CategoryModel, source.Model}} {
		if named.value != "" {
			all = append(all, Selection{Option: named.option, Value: named.value, Pointer: "/source/" + named.option, Level: LevelRequest})
		}
	}
	return all
}

// Effective are the selections that count, in the order in which they are set: the model, the mode, then the rest.
func (s *Settings) Effective(selections []Selection) ([]Selection, error) {
	chosen := map[string]Selection{} // by the option that it is about
	for _, one := range selections {
		about := s.about(one.Option)
		other, double := chosen[about]
		if double && other.Level == one.Level && !s.same(one, other) {
			return nil, domain.Invalid(one.Pointer, "It contradicts %s: both are about one option of the agent, %q and %q.",
				other.Pointer, wire.Beginning(one.Value, 100), wire.Beginning(other.Value, 100))
		}
		if !double || other.Level < one.Level {
			chosen[about] = one
		}
	}
	return slices.SortedFunc(maps.Values(chosen), func(x, y Selection) int {
		return cmp.Or(cmp.Compare(s.Rank(x), s.Rank(y)), strings.Compare(x.Option, y.Option))
	}), nil
}

// same tells whether two selections of one option come to the same: one may name what the other has the id of.
func (s *Settings) same(one, other Selection) bool {
	if one.Value == other.Value {
		return true
	}
	for _, from := range s.Offers(one.Option) {
		if found := from.Choice(one.Value).Value; found != "" {
			return found == from.Choice(other.Value).Value
		}
	}
	return false
}

// about is the option that an id or a category means: modes and models may be listed under several ids.
func (s *Settings) about(option string) string {
	offers := s.Offers(option)
	switch {
	case len(offers) == 0:
		return option
	case offers[0].Category == CategoryMode || offers[0].Category == CategoryModel:
		return offers[0].Category
	default:
		return offers[0].ID
	}
}

// Rank says when an option is set: 0 for the model, 1 for the mode, 2 for the rest.
func (s *Settings) Rank(one Selection) int {
	switch s.about(one.Option) {
	case CategoryModel:
		return 0
	case CategoryMode:
		return 1
	default:
		return 2
	}
}

// String names the selection in a message.
func (s Selection) String() string {
	value := wire.Beginning(s.Value, 100)
	if s.Option == CategoryMode || s.Option == CategoryModel {
		return `the ` + s.Option + ` "` + value + `"`
	}
	return `the value "` + value + `" of the option "` + wire.Beginning(s.Option, 100) + `"`
}

// NotOffered tells that an agent with these options does not offer what was selected.
func NotOffered(wanted Selection, options []domain.AgentOption) error {
	var ids []string
	for _, option := range options {
		if ids = append(ids, option.ID); option.ID == wanted.Option || option.Category == wanted.Option {
			return domain.Invalid(wanted.Pointer, "The agent does not offer %s. It offers: %s.", wanted, Values(option))
		}
	}
	if wanted.Option == CategoryMode || wanted.Option == CategoryModel {
		return domain.Invalid(wanted.Pointer, "The agent offers no choice of %s, so %q cannot be set.", wanted.Option, wire.Beginning(wanted.Value, 100))
	}
	return domain.Invalid(wanted.Pointer, "The agent has no option %q. It has: %s.",
		wire.Beginning(wanted.Option, 100), cmp.Or(wire.Beginning(strings.Join(ids, ", "), 2000), "none"))
}

// Values lists what an option offers, for a message.
func Values(option domain.AgentOption) string {
	var values []string
	for _, c := range option.Choices {
		values = append(values, c.Value)
	}
	return cmp.Or(wire.Beginning(strings.Join(values, ", "), 2000), "nothing")
}

// Of are the settings of an agent that has offered these options.
func Of(options []domain.AgentOption) *Settings {
	s := &Settings{}
	for _, option := range options {
		s.options = append(s.options, Option{AgentOption: option})
	}
	return s
}
