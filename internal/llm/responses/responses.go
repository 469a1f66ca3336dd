// Package responses asks models by OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses
//
// The vendor keeps nothing (store: false). What its models reasoned comes encrypted, and goes back with the items of the answer that it
// belongs to: verbatim, all of them, in their order (request.go). Without it a model begins to reason anew after each call, and the
// vendor refuses an item whose reasoning is missing.
// https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
//
// A request is a few types of our own (wire.go) and one POST, for the reasons that package anthropic gives.
package responses

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// Name is what the configuration calls the provider.
const Name = "openai-responses"

// Provider is the Responses API.
var Provider = provider.Provider{
	Name:    Name,
	Address: "https://api.openai.com/v1",
	Check:   provider.NoThinkingTokens,
	Schema: func(provider.Model, bool) *provider.SchemaRules {
		return &provider.SchemaRules{AllRequired: true, Recursive: true}
	},
	// Each model has levels of its own, which the vendor tells: https://platform.openai.com/docs/api-reference/responses/create
	Settings: func(provider.Model, domain.ModelSettings) provider.SettingRules {
		return provider.SettingRules{Known: true, Names: []string{
			domain.SettingEffort, domain.SettingMaxOutputTokens, domain.SettingTemperature, domain.SettingParallelToolCalls,
		}}
	},
	Media: func(provider.Model) []string { return provider.PicturesAndPDF },
	Open:  func(model provider.Model, setup provider.Setup) provider.Client { return newClient(model, setup) },
}

// client asks one model.
type client struct {
	name     string // of the model, in the registry
	model    string
	entry    provider.Model
	maker    provider.Maker
	failures provider.Failures
	address  string
	header   http.Header // of every request; it is not changed
	http     *http.Client
	probe    func(context.Context) error
	list     func(context.Context) []string
}

var _ provider.Client = (*client)(nil)

func newClient(model provider.Model, setup provider.Setup) *client {
	header := http.Header{"User-Agent": {"signoff"}}
	if model.APIKey != "" {
		header.Set("Authorization", "Bearer "+model.APIKey)
	}
	model.AddHeaders(header)
	probed := header.Clone()
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	return &client{
		name:     model.Name,
		model:    model.Model,
		entry:    model,
		maker:    model.Maker(),
		failures: provider.NewFailures(model, setup, statusOf, stateRefusals),
		address:  model.BaseURL + "/responses",
		header:   header,
		http:     setup.HTTPClient(),
		probe:    func(ctx context.Context) error { return setup.Probe(ctx, model.BaseURL+"/models", probed.Clone()) },
		list:     func(ctx context.Context) []string { return setup.List(ctx, model.BaseURL+"/models", probed.Clone()) },
	}
}

// Probe implements [provider.Client] by the list of models.
func (c *client) Probe(ctx context.Context) error { return c.probe(ctx) }

// ListModels returns the names of the vendor's models.
func (c *client) ListModels(ctx context.Context) []string { return c.list(ctx) }

// Stream implements [provider.Client].
func (c *client) Stream(ctx context.Context, request provider.Request, sink provider.Sink) (provider.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question, err := c.encode(request)
	if err != nil {
		return provider.Answer{}, provider.ErrorOf(err)
	}
	stream, err := provider.Post(ctx, c.http, c.address, c.header, question)
	if err != nil {
		return provider.Answer{}, c.failures.Of(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	r := &reader{model: c.name, sink: sink}
	got, err := c.read(ctx, provider.NewEventReader(stream), r)
	got.Usage = r.usage
	return got, err
}

func (c *client) read(ctx context.Context, events *provider.EventReader, r *reader) (provider.Answer, error) {
	for {
		next, err := events.Next()
		if err != nil {
			return c.end(ctx, r, err)
		}
		read, err := provider.Document(next.Data)
		if err != nil {
			return c.end(ctx, r, err)
		}
		var reported *provider.ReportedError
		switch err := r.take(read); {
		case errors.As(err, &reported):
			return c.end(ctx, r, err)
		case err != nil:
			return provider.Answer{}, err
		}
	}
}

// end decides whether the stream was an answer. After the vendor's word of its end it was, whatever happened to the connection.
func (c *client) end(ctx context.Context, r *reader, err error) (provider.Answer, error) {
	if r.finish != "" {
		return r.answer(c.failures)
	}
	return provider.Answer{}, c.failures.Of(ctx, err)
}

// statusOf is the status that an error would have had before the stream began; gateways put the number into the code. 0 where there is
// none.
func statusOf(code string) int {
	switch code {
	case "invalid_prompt", "invalid_request_error":
		return http.StatusBadRequest
	case "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "server_error":
		return http.StatusInternalServerError
	}
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		return 0
	}
	return status
}
