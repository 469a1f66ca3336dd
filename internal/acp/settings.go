package acp

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
)

// Categories of options that Signoff knows. An agent may have others, such as thought_level.
const (
	categoryMode  = "mode"
	categoryModel = "model"
)

// settings are the choices that the agent offers. The protocol has had three ways to offer them, and agents use all:
// modes, models (gone from the schema, still sent), and config options, which are preferred where there are several.
type settings struct {
	modes, models offer
	options       []offer // config options
}

// offer is one list to choose from.
type offer struct {
	domain.AgentOption
	legacy bool // it was listed as modes or models, and is set by a method of its own
}

// An agent can list whatever it likes. What is kept and told of it is bounded.
const (
	offeredOptions   = 50
	offeredChoices   = 1000 // of one option
	offeredName      = 200  // bytes
	offeredText      = 1000 // bytes of a description
	offeredValueSize = 500  // a longer id or value cannot be chosen
)

// established takes the answer that made the session or took it up.
func (s *settings) established(answer object) {
	s.modes.readLegacy(categoryMode, answer.object("modes"), "currentModeId", "availableModes", "id")
	s.models.readLegacy(categoryModel, answer.object("models"), "currentModelId", "availableModels", "modelId")
	s.readOptions(answer)
}

// learn takes an update.
func (s *settings) learn(kind string, update object) {
	switch kind {
	case "current_mode_update":
		mode := cmp.Or(update.text("currentModeId"), update.text("modeId"), s.modes.Current)
		s.modes.legacy, s.modes.ID, s.modes.Category, s.modes.Current = true, categoryMode, categoryMode, mode
		for i := range s.options {
			if option := &s.options[i]; option.Category == categoryMode && option.choice(mode).Value != "" {
				option.Current = mode
			}
		}
	case "config_option_update":
		s.readOptions(update)
	}
}

func (o *offer) readLegacy(category string, from object, current, list, id string) {
	if from == nil {
		return
	}
	o.legacy = true
	o.ID, o.Category, o.Current, o.Choices = category, category, from.text(current), nil
	for _, entry := range from.objects(list) {
		o.add(entry.text(id), entry)
	}
}

// add takes a choice in.
func (o *offer) add(value string, entry object) {
	if value == "" || len(value) > offeredValueSize || len(o.Choices) == offeredChoices {
		return
	}
	o.Choices = append(o.Choices, domain.AgentChoice{
		Value: value, Name: beginning(entry.text("name"), offeredName), Description: beginning(entry.text("description"), offeredText),
	})
}

// readOptions takes the full list of config options, where there is one. Types other than a list to choose from are
// passed over, as the protocol asks for.
func (s *settings) readOptions(from object) {
	if !from.has("configOptions") {
		return
	}
	s.options = nil
	for _, entry := range from.objects("configOptions") {
		id := entry.text("id")
		if entry.text("type") != "select" || id == "" || len(id) > offeredValueSize || len(s.options) == offeredOptions {
			continue
		}
		option := offer{AgentOption: domain.AgentOption{
			ID: id, Name: beginning(entry.text("name"), offeredName), Description: beginning(entry.text("description"), offeredText),
			Category: beginning(cmp.Or(entry.text("category"), id), offeredName), Current: entry.text("currentValue"),
		}}
		option.addAll(entry)
		s.options = append(s.options, option)
	}
}

// addAll flattens the groups that choices may come in.
func (o *offer) addAll(from object) {
	for _, entry := range from.objects("options") {
		if entry.has("options") {
			o.addAll(entry)
			continue
		}
		o.add(entry.text("value"), entry)
	}
}

// choice finds a value, by itself or by its name; the empty one is not offered.
func (o offer) choice(wanted string) domain.AgentChoice {
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

// offers lists where an option can be chosen, in the order of preference. It is named by its id, or by its category where
// that says which one is meant: what an agent calls its thought_level is its own affair.
func (s *settings) offers(option string) []offer {
	at := slices.IndexFunc(s.options, func(o offer) bool { return o.ID == option })
	if at >= 0 && s.options[at].Category != option {
		return []offer{s.options[at]}
	}
	found := s.ofCategory(option)
	if len(found) > 1 && option != categoryMode && option != categoryModel {
		return nil
	}
	return found
}

// ofCategory lists the options of a category; what an agent lists as modes or models comes last.
func (s *settings) ofCategory(category string) (offers []offer) {
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
func (s *settings) legacy(category string) *offer {
	legacy := map[string]*offer{categoryMode: &s.modes, categoryModel: &s.models}[category]
	if legacy == nil || !legacy.legacy || len(legacy.Choices) == 0 && legacy.Current == "" {
		return nil
	}
	return legacy
}

// listed lists all that can be chosen. Modes and models that are a config option as well are listed as that.
func (s *settings) listed() []domain.AgentOption {
	var all []domain.AgentOption
	for _, o := range s.options {
		all = append(all, o.shown())
	}
	for _, category := range []string{categoryMode, categoryModel} {
		if offers := s.ofCategory(category); len(offers) > 0 && offers[0].legacy {
			all = append(all, offers[0].shown())
		}
	}
	return all
}

// shown is the option as it is told: its list is never null, and is not changed any more.
func (o offer) shown() domain.AgentOption {
	option := o.AgentOption
	option.Current = beginning(option.Current, offeredValueSize)
	option.Choices = append([]domain.AgentChoice{}, o.Choices...)
	return option
}

// current is what the agent works with; empty where it does not say.
func (s *settings) current(category string) string {
	for _, offer := range s.ofCategory(category) {
		if offer.Current != "" {
			return offer.Current
		}
	}
	return ""
}

// chosen notes what the agent has accepted.
func (s *settings) chosen(from offer, value string) {
	if from.legacy {
		s.legacy(from.ID).Current = value
		return
	}
	for i := range s.options {
		if s.options[i].ID == from.ID {
			s.options[i].Current = value
		}
	}
}

// Offers are what an agent offers to choose from in a new session, with the values that it has by itself.
type Offers struct {
	Options []domain.AgentOption
	Version string // that the agent says it has; may be empty
	At      time.Time
}
