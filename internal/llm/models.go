package llm

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	probeTimeout = 2 * time.Second
	probeHolds   = 30 * time.Second
)

// ModelInfo is what may be shown of a model. It has neither key nor address.
type ModelInfo struct {
	Name      string
	Provider  string
	Model     string
	Default   bool
	Available bool
	Reason    string // why it is not available
}

// Models lists the models and whether each could be used now. Providers are asked at most every 30 seconds and
// answer within two, so this may be called for every page view.
func (r *Registry) Models(ctx context.Context) []ModelInfo {
	names := r.Names()
	infos := make([]ModelInfo, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		model := r.config.Models[name]
		infos[i] = ModelInfo{Name: name, Provider: model.Provider, Model: model.Model, Default: name == r.config.Default}
		asking.Go(func() {
			infos[i].Reason = r.probes[name].reason(ctx)
			infos[i].Available = infos[i].Reason == ""
		})
	}
	asking.Wait()
	return infos
}

// probe remembers for a while whether a provider answers. A caller who comes while it is being asked waits for that
// answer: a page that many people have open must not become many requests.
type probe struct {
	model     Model
	transport http.RoundTripper

	mu    sync.Mutex
	found string
	until time.Time
}

// reason returns why the model cannot be used, or nothing.
func (p *probe) reason(ctx context.Context) string {
	switch {
	case p.model.Provider == ProviderDemo:
		return ""
	case p.model.missingKey():
		return "The environment variable " + p.model.APIKeyEnv + " is empty."
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.After(p.until) {
		p.found = p.ask(context.WithoutCancel(ctx)) // one caller's leaving says nothing about the provider
		p.until = time.Now().Add(probeHolds)
	}
	return p.found
}

// identify says who asks, in the way of the vendor.
func (p *probe) identify(request *http.Request) {
	switch {
	case p.model.Provider == ProviderAnthropic:
		request.Header = anthropicHeader(p.model.APIKey)
	case p.model.APIKey != "":
		request.Header.Set("Authorization", "Bearer "+p.model.APIKey)
	}
}

func (p *probe) ask(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.model.BaseURL+"/models", nil)
	if err != nil {
		return "Its address cannot be used."
	}
	p.identify(request)
	response, err := p.transport.RoundTrip(request)
	if err != nil {
		return "No connection: " + connectionTrouble(err) + "."
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return "The provider does not accept the key."
	case response.StatusCode >= http.StatusInternalServerError:
		return "The provider answers with an error."
	default: // also 404: not every server has the list
		return ""
	}
}
