package acp

import (
	"cmp"
	"context"
	"strings"

	"signoff/internal/domain"
)

// setting is what can be chosen before the first prompt.
type setting string

const (
	settingMode  setting = "mode"
	settingModel setting = "model"
)

// settings are the choices that the agent offers. The protocol has had three ways to offer them, and agents use all:
// modes, models (gone from the schema, still sent), and config options, which are preferred where there are several.
type settings struct {
	modes, models offer
	options       []offer // each with its category
}

// offer is one list to choose from.
type offer struct {
	id       string // of a config option; empty for modes and models
	category string
	current  string
	choices  []choice
}

type choice struct{ value, name string }

// established takes the answer that made the session or took it up.
func (s *settings) established(answer object) {
	s.modes.read(answer.object("modes"), "currentModeId", "availableModes", "id")
	s.models.read(answer.object("models"), "currentModelId", "availableModels", "modelId")
	s.readOptions(answer)
}

// learn takes an update.
func (s *settings) learn(kind string, update object) {
	switch kind {
	case "current_mode_update":
		mode := cmp.Or(update.text("currentModeId"), update.text("modeId"), s.modes.current)
		s.modes.current = mode
		for i := range s.options {
			if option := &s.options[i]; option.of(settingMode) && option.find(mode) != "" {
				option.current = mode
			}
		}
	case "config_option_update":
		s.readOptions(update)
	}
}

func (o *offer) read(from object, current, list, id string) {
	if from == nil {
		return
	}
	o.current, o.choices = from.text(current), nil
	for _, entry := range from.objects(list) {
		o.choices = append(o.choices, choice{value: entry.text(id), name: entry.text("name")})
	}
}

// readOptions takes the full list of config options, where there is one. Types other than a list to choose from are
// passed over, as the protocol asks for.
func (s *settings) readOptions(from object) {
	if !from.has("configOptions") {
		return
	}
	s.options = nil
	for _, option := range from.objects("configOptions") {
		if option.text("type") != "select" {
			continue
		}
		s.options = append(s.options, offer{
			id: option.text("id"), category: cmp.Or(option.text("category"), option.text("id")),
			current: option.text("currentValue"), choices: choicesOf(option),
		})
	}
}

// choicesOf flattens the groups that choices may come in.
func choicesOf(from object) (choices []choice) {
	for _, entry := range from.objects("options") {
		if entry.has("options") {
			choices = append(choices, choicesOf(entry)...)
			continue
		}
		choices = append(choices, choice{value: entry.text("value"), name: entry.text("name")})
	}
	return choices
}

func (o offer) of(what setting) bool { return o.category == string(what) }

// find returns the value that is wanted, by value or by name; empty: it is not offered.
func (o offer) find(wanted string) string { return o.choice(wanted).value }

func (o offer) choice(wanted string) choice {
	for _, c := range o.choices {
		if c.value == wanted {
			return c
		}
	}
	for _, c := range o.choices {
		if strings.EqualFold(c.name, wanted) {
			return c
		}
	}
	return choice{}
}

// offers lists where a setting can be chosen, in the order of preference.
func (s *settings) offers(what setting) (offers []offer) {
	for _, option := range s.options {
		if option.of(what) {
			offers = append(offers, option)
		}
	}
	legacy := s.modes
	if what == settingModel {
		legacy = s.models
	}
	if len(legacy.choices) > 0 || legacy.current != "" {
		offers = append(offers, legacy)
	}
	return offers
}

// current is what the agent works with; empty where it does not say.
func (s *settings) current(what setting) string {
	for _, offer := range s.offers(what) {
		if offer.current != "" {
			return offer.current
		}
	}
	return ""
}

// chosen notes what the agent has accepted.
func (s *settings) chosen(what setting, from offer, value string) {
	switch {
	case from.id == "" && what == settingMode:
		s.modes.current = value
	case from.id == "":
		s.models.current = value
	}
	for i := range s.options {
		if from.id != "" && s.options[i].id == from.id {
			s.options[i].current = value
		}
	}
}

// configure brings the session into the wanted mode and to the wanted model, before anything is asked of it.
func (a *agent) configure(ctx context.Context) error {
	if err := a.choose(ctx, settingMode, a.launch.mode); err != nil {
		return err
	}
	return a.choose(ctx, settingModel, a.launch.model)
}

func (a *agent) choose(ctx context.Context, what setting, wanted string) error {
	if wanted == "" {
		return nil
	}
	offers := a.story.offers(what)
	for _, from := range offers {
		found := from.choice(wanted)
		if found.value == "" {
			continue
		}
		if err := a.judge(what, found); err != nil || found.value == from.current {
			return err
		}
		return a.set(ctx, what, from, found.value)
	}
	return notOffered(what, wanted, offers)
}

// judge looks at the mode that the wanted word stands for with this agent. The word alone was judged before the agent
// was started, and "Agent (full access)" seemed to be none of the modes that ask nobody.
func (a *agent) judge(what setting, found choice) error {
	if what != settingMode || a.launch.allowBypass {
		return nil
	}
	for _, word := range []string{found.value, found.name} {
		if bypassModeOf(a.launch.name, a.launch.process.Argv, word) {
			return bypassRefused(a.launch.name, found.value)
		}
	}
	return nil
}

func (a *agent) set(ctx context.Context, what setting, from offer, value string) error {
	method, params := "session/set_config_option", map[string]any{"sessionId": a.session, "configId": from.id, "value": value}
	if from.id == "" {
		method, params = "session/set_"+string(what), map[string]any{"sessionId": a.session, string(what) + "Id": value}
	}
	answer, err := a.request(ctx, a.launch.sessionTimeout(), method, params)
	if err != nil {
		return err
	}
	a.story.chosen(what, from, value, answer)
	return nil
}

func notOffered(what setting, wanted string, offers []offer) error {
	var names []string
	for _, from := range offers {
		for _, c := range from.choices {
			names = append(names, c.value)
		}
	}
	pointer := "/source/" + string(what)
	if len(names) == 0 {
		return domain.Invalid(pointer, "The agent offers no choice of %s, so %q cannot be set.", what, beginning(wanted, 100))
	}
	return domain.Invalid(pointer, "The agent does not offer the %s %q. It offers: %s.",
		what, beginning(wanted, 100), beginning(strings.Join(names, ", "), 2000))
}

func (s *story) offers(what setting) []offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.offers(what)
}

// chosen notes an accepted choice, and what the answer says of the others: a model may lack a mode.
func (s *story) chosen(what setting, from offer, value string, answer object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.chosen(what, from, value)
	s.settings.readOptions(answer)
}

// established takes the answer that made the session or took it up.
func (s *story) established(answer object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.established(answer)
}

// setting is what the agent works with.
func (s *story) setting(what setting) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.current(what)
}
