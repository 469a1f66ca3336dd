package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// candidate is a model that an agent may ask. It holds nothing of an execution, so there is one for all of them.
type candidate struct {
	name     string // in the registry
	model    Model
	provider provider
}

func newCandidate(name string, model Model, c Config) *candidate {
	return &candidate{name: name, model: model, provider: newProvider(name, model, c)}
}

func newProvider(name string, model Model, c Config) provider {
	switch {
	case model.missingKey():
		return keyless{domain.Errorf(domain.CodeModelNotConfigured,
			"Model %q has no key: the environment variable %s is empty.", name, model.APIKeyEnv)}
	case model.Provider == ProviderDemo:
		return demo{pace: c.DemoPace}
	case model.Provider == ProviderAnthropic:
		return newAnthropic(name, model, c)
	default:
		return newOpenAI(name, model, c)
	}
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
func (t *turn) ask(ctx context.Context) (answer, *message, error) {
	t.attempt = 0
	for {
		got, said, err := t.askModel(ctx)
		var trouble *failure
		if !errors.As(err, &trouble) {
			return got, said, err
		}
		if !worthAnother(trouble) || len(t.agent.lost)+1 == len(t.agent.candidates) {
			return answer{}, nil, t.agent.gaveUp(trouble)
		}
		if err := t.next(ctx, trouble.shown); err != nil {
			return answer{}, nil, err
		}
	}
}

// next goes over to the next candidate. What the last one has counted is no measure for it.
func (t *turn) next(ctx context.Context, why *domain.Error) error {
	from := t.agent.asked().name
	t.agent.lost = append(t.agent.lost, lost{name: from, why: why})
	t.agent.measured = 0
	return t.host.Emit(ctx, domain.ModelSwitched{From: from, To: t.agent.asked().name, Code: why.Code, Message: why.Message})
}

// worthAnother tells whether another model may do better. It would refuse a request that is wrong in itself as well, and
// a conversation that is too long for one model is not to be handed around.
func worthAnother(trouble *failure) bool {
	if trouble.shown.Code == domain.CodeQuotaExceeded { // whatever the status was that said so
		return true
	}
	var answered *statusError
	if errors.As(trouble, &answered) {
		switch answered.status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return false
		}
	}
	switch trouble.shown.Code {
	case domain.CodeModelUnauthorized, domain.CodeModelNotConfigured, domain.CodeModelUnreachable,
		domain.CodeModelFailed, domain.CodeModelStreamBroken:
		return true
	default:
		return false
	}
}

// gaveUp is the error that ends the turn; it names every model that was tried. The failure of the last one decides whether the request
// may be served later.
func (a *agent) gaveUp(last *failure) *domain.Error {
	shown := last.shown
	if len(a.lost) > 0 {
		var tried []string
		for _, model := range append(slices.Clone(a.lost), lost{name: a.asked().name, why: last.shown}) {
			tried = append(tried, fmt.Sprintf("%q: %s", model.name, model.why.Message))
		}
		shown = domain.Errorf(last.shown.Code, "None of %d models could answer. %s", len(tried), strings.Join(tried, " ")).With(last)
	}
	if last.mendable() {
		return unavailable(shown)
	}
	return shown
}

// keyless stands for the provider of a model whose key is missing, where other models can do its work.
type keyless struct{ failure *domain.Error }

// Stream implements provider.
func (k keyless) Stream(context.Context, request, sink) (answer, error) {
	return answer{}, &failure{shown: k.failure}
}
