package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// candidate is a model that an agent may ask. It holds nothing of an execution, so there is one for all of them.
type candidate struct {
	model    Model
	provider provider.Provider
	client   provider.Client
}

// newCandidate opens a model, or what stands for one whose key is missing.
func newCandidate(model Model, of provider.Provider, setup provider.Setup) *candidate {
	c := &candidate{model: model, provider: of}
	if model.APIKeyEnv != "" && model.APIKey == "" {
		c.client = keyless{model}
	} else {
		c.client = of.Open(model, setup)
	}
	return c
}

// lost is a candidate that has failed for good.
type lost struct {
	name string
	why  *domain.Error
}

// asked is the candidate whose turn it is: the first one that has not failed for good. A model that has stays out for as
// long as the agent is open. To try it anew in every turn would make a person wait for all its attempts each time, and
// have two models speak in turns. Only an agent that is opened again, after a restart or a long rest, begins with the
// first.
func (a *agent) asked() *candidate { return a.candidates[len(a.lost)] }

// ask gets one whole answer, from the first model that can give one.
func (t *turn) ask(ctx context.Context) (provider.Answer, *message, error) {
	t.attempt = 0
	for {
		got, said, err := t.askModel(ctx)
		var trouble *provider.Failure
		if !errors.As(err, &trouble) {
			return got, said, err
		}
		if !trouble.Elsewhere() || len(t.agent.lost)+1 == len(t.agent.candidates) {
			return provider.Answer{}, nil, t.agent.gaveUp(trouble)
		}
		if err := t.next(ctx, trouble.Shown); err != nil {
			return provider.Answer{}, nil, err
		}
	}
}

// next goes over to the next candidate. What the last one has counted is no measure for it.
func (t *turn) next(ctx context.Context, why *domain.Error) error {
	from := t.agent.asked().model.Name
	t.agent.lost = append(t.agent.lost, lost{name: from, why: why})
	t.agent.measured = 0
	return t.host.Emit(ctx, domain.ModelSwitched{From: from, To: t.agent.asked().model.Name, Code: why.Code, Message: why.Message})
}

// gaveUp is the error that ends the turn; it names every model that was tried. The failure of the last one decides whether the request
// may be served later.
func (a *agent) gaveUp(last *provider.Failure) *domain.Error {
	shown := last.Shown
	if len(a.lost) > 0 {
		var tried []string
		for _, model := range append(slices.Clone(a.lost), lost{name: a.asked().model.Name, why: last.Shown}) {
			tried = append(tried, fmt.Sprintf("%q: %s", model.name, model.why.Message))
		}
		shown = domain.Errorf(last.Shown.Code, "None of %d models could answer. %s", len(tried), strings.Join(tried, " ")).With(last)
	}
	if last.Mendable() {
		return unavailable(shown)
	}
	return shown
}

// unavailable is an error of the provider that does not end the execution, see [domain.ErrProviderUnavailable].
func unavailable(shown *domain.Error) *domain.Error {
	return domain.Errorf(shown.Code, "%s", shown.Message).With(errors.Join(domain.ErrProviderUnavailable, shown))
}

// keyless stands for the client of a model whose key is missing, where other models can do its work.
type keyless struct{ model Model }

// Stream implements [provider.Client].
func (k keyless) Stream(context.Context, provider.Request, provider.Sink) (provider.Answer, error) {
	return provider.Answer{}, &provider.Failure{Shown: k.missing()}
}

func (k keyless) missing() *domain.Error {
	return domain.Errorf(domain.CodeModelNotConfigured,
		"Model %q has no key: the environment variable %s is empty.", k.model.Name, k.model.APIKeyEnv)
}

// Probe implements [provider.Client].
func (k keyless) Probe(context.Context) error {
	return domain.Errorf(domain.CodeModelNotConfigured, "The environment variable %s is empty.", k.model.APIKeyEnv)
}
