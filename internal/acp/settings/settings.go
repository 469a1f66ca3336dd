package settings

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Categories of options that Signoff knows. An agent may have others, such as thought_level.
const (
	CategoryMode  = "mode"
	CategoryModel = "model"
)

// Settings are the choices that the agent offers. The protocol has had three ways to offer them, and agents use all:
// modes, models (gone from the schema, still sent), and config options, which are preferred where there are several.
type Settings struct {
	modes, models Option
	options       []Option // config options
}

// Clone returns a copy, for who reads it without the lock.
func (s *Settings) Clone() *Settings {
	return &Settings{modes: s.modes, models: s.models, options: slices.Clone(s.options)}
}

// Option is one list to choose from.
type Option struct {
	domain.AgentOption
	Legacy bool // it was listed as modes or models, and is set by a method of its own
}

// An agent can list whatever it likes. What is kept and told of it is bounded.
const (
	offeredOptions   = 50
	offeredChoices   = 1000 // of one option
	offeredName      = 200  // bytes
	offeredText      = 1000 // bytes of a description
	offeredValueSize = 500  // a longer id or value cannot be chosen
)

// ReadSession takes the answer that made the session or resumed it.
func (s *Settings) ReadSession(answer wire.Object) {
	s.modes.readLegacy(CategoryMode, answer.Object("modes"), "currentModeId", "availableModes", "id")
	s.models.readLegacy(CategoryModel, answer.Object("models"), "currentModelId", "availableModels", "modelId")
	s.ReadOptions(answer)
}

// ReadUpdate takes an update.
func (s *Settings) ReadUpdate(kind string, update wire.Object) {
	switch kind {
	case "current_mode_update":
		mode := cmp.Or(update.Text("currentModeId"), update.Text("modeId"), s.modes.Current)
		s.modes.Legacy, s.modes.ID, s.modes.Category, s.modes.Current = true, CategoryMode, CategoryMode, mode
		for i := range s.options {
			if option := &s.options[i]; option.Category == CategoryMode && option.Choice(mode).Value != "" {
				option.Current = mode
			}
		}
	case "config_option_update":
		s.ReadOptions(update)
	}
}

func (o *Option) readLegacy(category string, from wire.Object, current, list, id string) {
	if from == nil {
		return
	}
	o.Legacy = true
	o.ID, o.Category, o.Current, o.Choices = category, category, from.Text(current), nil
	for _, entry := range from.Objects(list) {
		o.add(entry.Text(id), entry)
	}
}

// add takes a choice in.
func (o *Option) add(value string, entry wire.Object) {
	if value == "" || len(value) > offeredValueSize || len(o.Choices) == offeredChoices {
		return
	}
	o.Choices = append(o.Choices, domain.AgentChoice{
		Value: value, Name: wire.Beginning(entry.Text("name"), offeredName), Description: wire.Beginning(entry.Text("description"), offeredText),
	})
}

// ReadOptions takes the full list of config options, where there is one. Types other than a list to choose from are
// passed over, as the protocol asks for.
func (s *Settings) ReadOptions(from wire.Object) {
	if !from.Has("configOptions") {
		return
	}
	s.options = nil
	for _, entry := range from.Objects("configOptions") {
		id := entry.Text("id")
		if entry.Text("type") != "select" || id == "" || len(id) > offeredValueSize || len(s.options) == offeredOptions {
			continue
		}
		option := Option{AgentOption: domain.AgentOption{
			ID: id, Name: wire.Beginning(entry.Text("name"), offeredName), Description: wire.Beginning(entry.Text("description"), offeredText),
			Category: wire.Beginning(cmp.Or(entry.Text("category"), id), offeredName), Current: entry.Text("currentValue"),
		}}
		option.addAll(entry)
		s.options = append(s.options, option)
	}
}

// addAll flattens the groups that choices may come in.
func (o *Option) addAll(from wire.Object) {
	for _, entry := range from.Objects("options") {
		if entry.Has("options") {
			o.addAll(entry)
			continue
		}
		o.add(entry.Text("value"), entry)
	}
}

// Choice finds a value, by itself or by its name; the empty one is not offered.
func (o Option) Choice(wanted string) domain.AgentChoice {
	for _, c := range o.Choices {
		if c.Value == wanted {
			return c
		}
	}
	for _, c := range o.Choices {
		if strings.EqualFold(c.Name, wanted) {
			return c
		}
	}
	return domain.AgentChoice{}
}

// Offers lists where an option can be chosen, in the order of preference. It is named by its id, or by its category where
// that says which one is meant: what an agent calls its thought_level is its own affair.
func (s *Settings) Offers(option string) []Option {
	at := slices.IndexFunc(s.options, func(o Option) bool { return o.ID == option })
	if at >= 0 && s.options[at].Category != option {
		return []Option{s.options[at]}
	}
	found := s.ofCategory(option)
	if len(found) > 1 && option != CategoryMode && option != CategoryModel {
		return nil
	}
	return found
}

// ofCategory lists the options of a category; what an agent lists as modes or models comes last.
func (s *Settings) ofCategory(category string) (offers []Option) {
	for _, o := range s.options {
		if o.Category == category {
			offers = append(offers, o)
		}
	}
	if legacy := s.legacy(category); legacy != nil {
		offers = append(offers, *legacy)
	}
	return offers
}

// legacy is what the agent lists as modes or models; nil where it does not.
func (s *Settings) legacy(category string) *Option {
	legacy := map[string]*Option{CategoryMode: &s.modes, CategoryModel: &s.models}[category]
	if legacy == nil || !legacy.Legacy || len(legacy.Choices) == 0 && legacy.Current == "" {
		return nil
	}
	return legacy
}

// List lists all that can be chosen. Modes and models that are a config option as well are listed as that.
func (s *Settings) List() []domain.AgentOption {
	var all []domain.AgentOption
	for _, o := range s.options {
		all = append(all, o.shown())
	}
	for _, category := range []string{CategoryMode, CategoryModel} {
		if offers := s.ofCategory(category); len(offers) > 0 && offers[0].Legacy {
			all = append(all, offers[0].shown())
		}
	}
	return all
}

// shown is the option for an event: its list is never null, and does not change any more.
func (o Option) shown() domain.AgentOption {
	option := o.AgentOption
	option.Current = wire.Beginning(option.Current, offeredValueSize)
	option.Choices = append([]domain.AgentChoice{}, o.Choices...)
	return option
}

// Current is what the agent works with; empty where it does not say.
func (s *Settings) Current(category string) string {
	for _, offer := range s.ofCategory(category) {
		if offer.Current != "" {
			return offer.Current
		}
	}
	return ""
}

// SetCurrent notes what the agent has accepted.
func (s *Settings) SetCurrent(from Option, value string) {
	if from.Legacy {
		s.legacy(from.ID).Current = value
		return
	}
	for i := range s.options {
		if s.options[i].ID == from.ID {
			s.options[i].Current = value
		}
	}
}

// Offers are what an agent offers to choose from in a new session, with the values that it has by itself, and what it takes.
type Offers struct {
	Options []domain.AgentOption
	Takes   Takes  // in a prompt
	Version string // that the agent says it has; may be empty
	At      time.Time
}
