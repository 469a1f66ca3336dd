// Package anthropic asks models by Anthropic's messages, at Anthropic and at gateways in front of it.
//
// A request is a few types of our own (request.go) and one POST: an SDK would add retries that hide waits from the log, traces, a decoder
// that is not used, and a fifth to the time of a first build. Events are read in event.go and made an answer in reader.go.
//
// A model's thoughts are signed, and go back as they came (thinking.go). Two marks in each request tell the vendor what to keep in its
// cache; the price factors of [Provider] are those of the cache that is asked for.
package anthropic

import (
	"context"
	"net/http"
	"strings"

	"signoff/internal/llm/provider"
)

// Provider is Anthropic's messages. Its price factors are one for all its models; writing is that of a cache of five minutes.
var Provider = provider.Provider{
	Name:      Name,
	Address:   "https://api.anthropic.com/v1",
	Check:     check,
	Reserved:  maxOutput,
	Settings:  settingRules,
	Schema:    schemaRules,
	CacheRead: 0.1, CacheWrite: 1.25,
	Media:    func(provider.Model) []string { return provider.PicturesAndPDF },
	Pictures: &pictures,
	Open:     func(entry provider.Model, setup provider.Setup) provider.Client { return newClient(entry, setup) },
}

// pictures are the bounds of https://platform.claude.com/docs/en/build-with-claude/vision. The models see at most the pixels of a scaled one.
var pictures = provider.PictureBounds{
	Bytes: 5 << 20 * 3 / 4, // 5 MiB in base64: "image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes"
	Edge:  8000,
	Many:  20, EdgeOfMany: 2000,
	Scaled: 2576,
}

// client asks one model.
type client struct {
	name     string // of the model, in the registry
	model    model
	failures provider.Failures
	address  string
	header   http.Header // of every request; it is not changed
	http     *http.Client
	probe    func(context.Context) error
	list     func(context.Context) []string
}

var _ provider.Client = (*client)(nil)

func newClient(entry provider.Model, setup provider.Setup) *client {
	header := http.Header{"User-Agent": {userAgent}, "Anthropic-Version": {version}}
	if entry.APIKey != "" { // in a header of its own, which a redirect would carry to another host; [provider.Setup.HTTPClient] follows none
		header.Set("X-Api-Key", entry.APIKey)
	}
	entry.AddHeaders(header)
	probed := header.Clone()
	base := strings.TrimSuffix(entry.BaseURL, "/v1") + "/v1" // the vendor's own tools have the address without the version
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	return &client{
		name:     entry.Name,
		model:    model{maker: entry.Maker(), name: entry.Model, entry: entry},
		failures: provider.NewFailures(entry, setup, statusOf, stateRefusals),
		address:  base + "/messages",
		header:   header,
		http:     setup.HTTPClient(),
		probe:    func(ctx context.Context) error { return setup.Probe(ctx, base+"/models", probed.Clone()) },
		list:     func(ctx context.Context) []string { return setup.List(ctx, base+"/models", probed.Clone()) },
	}
}

// version is the one of the API, without which it answers nobody.
const version = "2023-06-01"

// userAgent says who asks, as it does to every other server.
const userAgent = "signoff"

// Probe implements [provider.Client] by the list of models.
func (c *client) Probe(ctx context.Context) error { return c.probe(ctx) }

// ListModels returns the names of the vendor's models.
func (c *client) ListModels(ctx context.Context) []string { return c.list(ctx) }

// Stream implements [provider.Client].
func (c *client) Stream(ctx context.Context, request provider.Request, sink provider.Sink) (provider.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question, err := c.model.encode(request)
	if err != nil {
		return provider.Answer{}, provider.ErrorOf(err)
	}
	r := &reader{model: c.name, sink: sink}
	stream, err := provider.Post(ctx, c.http, c.address, c.header, question)
	if err != nil {
		return c.end(ctx, r, err)
	}
	defer func() { _ = stream.Close() }()
	got, err := c.read(ctx, feed{provider.NewEventReader(stream)}, r)
	got.Usage = r.usage.usage()
	return got, err
}

func (c *client) read(ctx context.Context, events feed, r *reader) (provider.Answer, error) {
	for {
		next, ended := events.next()
		if ended != nil {
			return c.end(ctx, r, ended)
		}
		if err := r.take(&next); err != nil {
			return provider.Answer{}, err
		}
	}
}

// end decides whether the stream was an answer. After a stop reason it was, whatever happened to the connection.
func (c *client) end(ctx context.Context, r *reader, err error) (provider.Answer, error) {
	if r.stop != "" {
		return r.answer(c.failures)
	}
	return provider.Answer{}, c.failures.Of(ctx, err)
}

// statusOverloaded is the vendor's own.
const statusOverloaded = 529

// statusOf is the status that an error would have had before the stream began; 0 where there is none.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "api_error":
		return http.StatusInternalServerError
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return statusOverloaded
	default:
		return 0
	}
}
