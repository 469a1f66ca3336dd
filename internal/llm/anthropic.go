package llm

import (
	"context"
	"net/http"
	"time"

	"signoff/internal/domain"
)

// anthropicAPI speaks Anthropic's messages.
type anthropicAPI struct {
	name string // of the model, in the registry
}

var _ provider = (*anthropicAPI)(nil)

func newAnthropic(name string, _ Model, _ http.RoundTripper, _ time.Duration) *anthropicAPI {
	return &anthropicAPI{name: name}
}

// Stream implements provider.
func (a *anthropicAPI) Stream(context.Context, request, sink) (answer, error) {
	return answer{}, &failure{shown: domain.Errorf(domain.CodeModelNotConfigured, "Model %q cannot be asked yet.", a.name)}
}
