package acp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// takeOptions sets the options of a prompt. Those of a turn that was cancelled over it are set with the next one, since they
// hold from their turn on; those that the agent does not take hold nowhere.
func (a *agent) takeOptions(ctx context.Context, options map[string]string) error {
	a.unset = a.unset.With(options)
	var selections []settings.Selection
	for i, options := range a.unset {
		selections = append(selections, settings.Selections(options, "/options", settings.LevelPrompts+i)...)
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
func (a *agent) choose(ctx context.Context, selections []settings.Selection) error {
	effective, err := a.translator.currentSettings().Effective(selections)
	if err != nil {
		return err
	}
	var before []settings.Option
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
func (a *agent) chooseOne(ctx context.Context, wanted settings.Selection) (before *settings.Option, err error) {
	current := a.translator.currentSettings()
	for _, from := range current.Offers(wanted.Option) {
		found := from.Choice(wanted.Value)
		if found.Value == "" {
			continue
		}
		if err := a.config.Judge(wanted, from, found); err != nil {
			return nil, err
		}
		if found.Value == from.Current {
			return nil, nil
		}
		return &from, a.set(ctx, wanted, from, found.Value)
	}
	return nil, settings.NotOffered(wanted, current.List())
}

func (a *agent) set(ctx context.Context, wanted settings.Selection, from settings.Option, value string) error {
	method, params := "session/set_config_option", map[string]any{"sessionId": a.session, "configId": from.ID, "value": value}
	if from.Legacy {
		method, params = "session/set_"+from.ID, map[string]any{"sessionId": a.session, from.ID + "Id": value}
	}
	limited, stop := context.WithTimeoutCause(ctx, a.config.sessionTimeout(), errSlow)
	defer stop()
	answer, err := a.peer.Call(limited, method, params)
	var refused *acp.RequestError
	if errors.As(err, &refused) && refused.Code != errorAuthRequired {
		return domain.Invalid(wanted.Pointer, "The agent refuses %s. It answered: %s (code %d). It offers: %s.",
			wanted, a.wording(refused), refused.Code, settings.Values(from.AgentOption))
	}
	if err != nil {
		return a.explain(ctx, method, err)
	}
	a.translator.chosen(from, value, a.withoutSecrets(wire.ReadObject(answer)))
	return nil
}

// settingBack bounds how long options are set back.
const settingBack = 5 * time.Second

// setBack gives options the values that they had, the last one first, as far as the agent takes them. What it has refused to
// set is among them: it may have set it all the same.
func (a *agent) setBack(before []settings.Option) {
	if len(before) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(a.life, settingBack)
	defer cancel()
	for _, was := range slices.Backward(before) {
		_ = a.set(ctx, settings.Selection{Option: was.ID, Value: was.Current}, was, was.Current) // the refusal before says more
	}
}
