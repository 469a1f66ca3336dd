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
		setup.Masker = model.Hiding(setup.Masker)
		c.client = of.Open(model, setup)
	}
	return c
}

// fullAt is how many tokens a request of the source may have before room is made; 0 = unknown.
func (c *candidate) fullAt(source domain.Source) int64 {
	window := int64(c.model.ContextWindow)
	limit := window * nearLimit / 100
	if window > 0 {
		limit = min(limit, window-int64(c.reserved(c.settings(source))))
	}
	return limit
}

// mostOfResult is how many bytes of one result the model gets, a quarter of its window; 0 = unknown.
func (c *candidate) mostOfResult() int {
	if c.model.ContextWindow == 0 {
		return 0
	}
	return max(c.model.ContextWindow*bytesPerToken/resultPart, leastKept)
}

// reserved is how many tokens of the window an answer with these settings may need.
func (c *candidate) reserved(settings domain.ModelSettings) int {
	if c.provider.Reserved == nil {
		return settings.MaxOutputTokens
	}
	return c.provider.Reserved(c.model, settings)
}

// lineup is the models that one execution may ask, in their order, and those that are out.
type lineup struct {
	candidates []*candidate // the request's model and its fallbacks
	lost       []lost       // the first of them, each with its failure
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
func (l *lineup) asked() *candidate { return l.candidates[len(l.lost)] }

// last tells whether no other model is left.
func (l *lineup) last() bool { return len(l.lost)+1 == len(l.candidates) }

// recover goes on where an earlier process had come to, with a request that failed. Its model is asked again, and not those that were
// given up before it. It tells whether the model is still there.
func (l *lineup) recover(retrying *domain.Retrying) bool {
	asked := slices.IndexFunc(l.candidates, func(c *candidate) bool { return c.model.Name == retrying.Model })
	if asked < 0 || asked < len(l.lost) { // the registry has changed, or it failed in the log of an older server
		return false
	}
	for _, before := range l.candidates[len(l.lost):asked] {
		why := domain.Errorf(domain.CodeModelFailed, "Model %q was given up in an earlier turn.", before.model.Name)
		for _, switched := range retrying.Switched {
			if switched.From == before.model.Name {
				why = domain.Errorf(switched.Code, "%s", switched.Message)
			}
		}
		l.lost = append(l.lost, lost{name: before.model.Name, why: why})
	}
	return true
}

// gaveUp is the error that ends the turn; it names every model that was tried. The failure of the last one decides whether the request
// may be served later.
func (l *lineup) gaveUp(last *provider.Error) *domain.Error {
	shown := last.Shown
	if len(l.lost) > 0 {
		var tried []string
		for _, model := range append(slices.Clone(l.lost), lost{name: l.asked().model.Name, why: last.Shown}) {
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
	return provider.Answer{}, &provider.Error{Shown: k.missing()}
}

func (k keyless) missing() *domain.Error {
	return domain.Errorf(domain.CodeModelNotConfigured,
		"Model %q has no key: the environment variable %s is empty.", k.model.Name, k.model.APIKeyEnv)
}

// Probe implements [provider.Client].
func (k keyless) Probe(context.Context) error {
	return domain.Errorf(domain.CodeModelNotConfigured, "The environment variable %s is empty.", k.model.APIKeyEnv)
}
