package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

// WebSearchName is the name of [WebSearch].
const WebSearchName = "web_search"

const (
	webSearchFields   = `"query" (string)`
	maxQueryChars     = 400
	maxWebResults     = 10
	maxWebResultBytes = 2 << 20
	maxTitleChars     = 200
	maxSnippetChars   = 500
	maxQueryBytes     = maxQueryChars * utf8.UTFMax
)

//go:embed web_search.md
var webSearchText string

// SearchConfig is the operator's configuration of the search.
type SearchConfig struct {
	Provider string // see [SearchProviders]
	URL      string // of the provider; empty for its usual one
	APIKey   string
}

// WebSearch asks the operator's search provider.
type WebSearch struct {
	provider searchProvider
	endpoint *url.URL
	key      string
}

var _ Tool = (*WebSearch)(nil)

// NewWebSearch returns the tool, or the mistake in config. Without a provider there is no tool.
func NewWebSearch(config SearchConfig) (*WebSearch, error) {
	provider, known := searchProviders[config.Provider]
	if !known {
		return nil, domain.Errorf(domain.CodeInvalid, "There is no search provider called %q. The providers are: %s.",
			config.Provider, strings.Join(SearchProviders(), ", "))
	}
	if provider.needsKey && config.APIKey == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "The search provider %s needs a key.", config.Provider)
	}
	address := config.URL
	if address == "" {
		address = provider.address
	}
	if address == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "The search provider %s needs the URL of its server.", config.Provider)
	}
	endpoint, err := readURL(address)
	if err != nil || endpoint.RawQuery != "" {
		return nil, domain.Errorf(domain.CodeInvalid,
			"The URL of the search provider %s must be an http or https URL without user and query.", config.Provider)
	}
	return &WebSearch{provider, endpoint.JoinPath(provider.path), config.APIKey}, nil
}

// Definition implements [Tool].
func (*WebSearch) Definition() Definition {
	return Definition{
		Name:        WebSearchName,
		Version:     "1",
		Class:       domain.ClassNetwork,
		Description: webSearchText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"query": {"type": "string", "maxLength": 400, "description": "What to look for."}
			},
			"required": ["query"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (s *WebSearch) Check(arguments json.RawMessage, _ string) (Intent, error) {
	query, err := readQuery(arguments)
	if err != nil {
		return Intent{}, err
	}
	host := s.endpoint.Hostname()
	return Intent{
		Summary: fmt.Sprintf("Search the web by %s for %s", host, code(query)),
		Action:  domain.Action{Hosts: []string{host}},
	}, nil
}

// Run implements [Tool].
func (s *WebSearch) Run(ctx context.Context, _ domain.Host, call domain.ToolCall) Result {
	query, err := readQuery(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	results, err := s.search(ctx, query)
	if err != nil {
		return failed("", err)
	}
	if len(results) == 0 {
		return Result{Output: "(nothing was found)"}
	}
	var list strings.Builder
	for i, result := range results[:min(len(results), maxWebResults)] {
		fmt.Fprintf(&list, "%d. %s\n   %s\n", i+1, cmp.Or(oneLine(result.Title, maxTitleChars), "(no title)"), shorten(visible(result.URL), maxURLBytes, 0))
		if snippet := oneLine(result.Content+result.Description, maxSnippetChars); snippet != "" {
			list.WriteString("   " + snippet + "\n")
		}
	}
	return Result{Output: Foreign(s.endpoint.Hostname(), list.String())}
}

// search asks the provider. Its address is the operator's, who may well have one in the private network.
func (s *WebSearch) search(ctx context.Context, query string) ([]webResult, error) {
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	request, err := s.provider.request(ctx, *s.endpoint, s.key, query)
	if err != nil {
		return nil, webError(ctx, err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "application/json")
	client := webClient(egress.Dialer{Hosts: []string{s.endpoint.Hostname()}, AllowPrivate: true})
	client.CheckRedirect = staysAtProvider
	response, err := client.Do(request)
	if err != nil {
		return nil, webError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := providerStatus(response.StatusCode); err != nil {
		return nil, err
	}
	body, whole, err := readBody(ctx, response, maxWebResultBytes)
	if err != nil {
		return nil, err
	}
	results, err := s.provider.decode(body)
	if err != nil || !whole {
		return nil, domain.Errorf(domain.CodeToolFailed, "The search provider sent something that cannot be read.").With(err)
	}
	return results, nil
}

// staysAtProvider is sameHost without the new URL: it may hold what the request did, and the model cannot use it.
func staysAtProvider(request *http.Request, via []*http.Request) error {
	if sameHost(request, via) != nil {
		return domain.Errorf(domain.CodeToolFailed, "The search provider has moved; the operator must mend its URL.")
	}
	return nil
}

// providerStatus is the error for a status. What the provider says about it is withheld: some repeat the key.
func providerStatus(status int) error {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return domain.Errorf(domain.CodeToolFailed, "The search provider does not accept the key that it was given.")
	case status == http.StatusTooManyRequests:
		return domain.Errorf(domain.CodeToolFailed, "The search provider takes no more requests for now.")
	case status != http.StatusOK:
		return domain.Errorf(domain.CodeToolFailed, "The search provider answered with the status %d.", status)
	}
	return nil
}

func readQuery(arguments json.RawMessage) (string, error) {
	members := readFields(arguments, webSearchFields, "query")
	query := members.text("query", maxQueryBytes)
	if length := utf8.RuneCountInString(query); length > maxQueryChars {
		members.wrong(`The field "query" has %d characters; at most %d are allowed.`, length, maxQueryChars)
	}
	return query, members.mistake
}
