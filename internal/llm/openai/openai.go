// Package openai asks models by OpenAI's chat completions, which is what most servers speak: OpenAI, Ollama, vLLM, and gateways in front
// of others.
//
// Of the vendor's SDK it uses the types of a request, and has it sent; no other package imports it. The SDK's retries, error bodies,
// accumulator and stream decoder are not used: the first would hide waits from the log, the second lose the status of {"error": "text"},
// the third merge parallel calls that come without an index, the fourth cost more than all the rest of the way; see
// [provider.EventReader].
//
// What a server wants back of its answers goes back to it verbatim, in the field that it came in (state.go); which servers want what, and
// what a conversation that comes from elsewhere needs for them, is in one table (vendors.go).
//
// Servers that speak the dialect with an accent are taken as they are: pieces of calls without an index (provider.Calls), thoughts in
// one of two fields (chunk.go) or in tags within the text (think.go), errors as text, status codes in events. What cannot be read is
// left out, and not the answer that it is in.
package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"signoff/internal/llm/provider"
)

// Name is what the configuration calls the provider.
const Name = "openai"

// Provider is chat completions. Its zero price factors say that nobody knows: vendors differ.
var Provider = provider.Provider{
	Name:    Name,
	Address: "https://api.openai.com/v1",
	Check:   provider.NoThinkingTokens,
	Schema: func(model provider.Model, withTools bool) *provider.SchemaRules {
		return vendorOf(model).schema(model, withTools)
	},
	Settings: settingRules,
	Media:    func(model provider.Model) []string { return vendorOf(model).sends() },
	Open:     func(model provider.Model, setup provider.Setup) provider.Client { return newClient(model, setup) },
}

// client asks one model.
type client struct {
	name     string // of the model, in the registry
	model    string
	maker    provider.Maker
	vendor   vendor
	extra    map[string]json.RawMessage // fields that the entry adds
	failures provider.Failures
	chat     openai.ChatCompletionService
	probe    func(context.Context) error
	list     func(context.Context) []string
}

var _ provider.Client = (*client)(nil)

// newClient builds the chat service alone: openai.NewClient would read keys, addresses and headers of some other
// account from the environment.
func newClient(model provider.Model, setup provider.Setup) *client {
	header := http.Header{}
	options := []option.RequestOption{
		option.WithHTTPClient(setup.HTTPClient()),
		option.WithBaseURL(model.BaseURL + "/"),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if model.APIKey != "" {
		options = append(options, option.WithAPIKey(model.APIKey))
		header.Set("Authorization", "Bearer "+model.APIKey)
	}
	model.AddHeaders(header)
	for name, value := range model.ExtraHeaders {
		options = append(options, option.WithHeader(name, value))
	}
	return &client{
		name:     model.Name,
		model:    model.Model,
		maker:    model.Maker(),
		vendor:   vendorOf(model),
		extra:    model.ExtraBody,
		failures: provider.NewFailures(model, setup, statusOf, stateRefusals),
		chat:     openai.NewChatCompletionService(options...),
		probe:    func(ctx context.Context) error { return setup.Probe(ctx, model.BaseURL+"/models", header.Clone()) },
		list:     func(ctx context.Context) []string { return setup.List(ctx, model.BaseURL+"/models", header.Clone()) },
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
	r := &reader{sink: sink, split: thinkSplitter{sink: sink}, thoughtsApart: c.vendor.gemini}
	var response *http.Response // as it comes: the SDK's own reader is not given it
	sent := c.chat.NewStreaming(ctx, c.params(request), option.WithResponseBodyInto(&response))
	if err := sent.Err(); err != nil {
		return c.end(ctx, r, err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := c.read(ctx, feed{provider.NewEventReader(response.Body)}, r)
	got.Usage = r.usage
	return got, err
}

func (c *client) read(ctx context.Context, chunks feed, r *reader) (provider.Answer, error) {
	for {
		next, ended := chunks.next()
		if ended != nil {
			return c.end(ctx, r, ended)
		}
		if err := r.take(next); err != nil {
			return provider.Answer{}, err
		}
	}
}

// end decides whether the stream was an answer. After a finish reason it was, whatever happened to the connection.
func (c *client) end(ctx context.Context, r *reader, err error) (provider.Answer, error) {
	if err := r.split.flush(); err != nil {
		return provider.Answer{}, err
	}
	if r.finish == "" {
		return provider.Answer{}, c.failures.Of(ctx, err)
	}
	return c.finish(r)
}

// statusOf is the status behind an error in the stream; gateways put it into the code. 0 where there is none.
func statusOf(code string) int {
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		return 0
	}
	return status
}
