package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
)

// searchProvider is how one kind of search engine is asked, and how its answer is read.
type searchProvider struct {
	address  string // its usual one; empty where every operator has a server of their own
	path     string // below the address
	needsKey bool
	request  func(ctx context.Context, endpoint url.URL, key, query string) (*http.Request, error)
	decode   func(body []byte) ([]webResult, error)
}

var searchProviders = map[string]searchProvider{
	"searxng": {path: "search", request: askSearxng, decode: decodeResults},
	"brave":   {address: "https://api.search.brave.com", path: "res/v1/web/search", needsKey: true, request: askBrave, decode: decodeBrave},
	"tavily":  {address: "https://api.tavily.com", path: "search", needsKey: true, request: askTavily, decode: decodeResults},
}

// SearchProviders are the names that [SearchConfig] may have.
func SearchProviders() []string { return slices.Sorted(maps.Keys(searchProviders)) }

func askSearxng(ctx context.Context, endpoint url.URL, key, query string) (*http.Request, error) {
	endpoint.RawQuery = url.Values{"q": {query}, "format": {"json"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.String(), http.NoBody)
	if err == nil && key != "" { // SearXNG has no keys itself; a gateway before it may want one
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return request, err
}

func askBrave(ctx context.Context, endpoint url.URL, key, query string) (*http.Request, error) {
	endpoint.RawQuery = url.Values{"q": {query}, "count": {strconv.Itoa(maxWebResults)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.String(), http.NoBody)
	if err == nil {
		request.Header.Set("X-Subscription-Token", key)
	}
	return request, err
}

func askTavily(ctx context.Context, endpoint url.URL, key, query string) (*http.Request, error) {
	body := domain.Encode(map[string]any{"query": query, "max_results": maxWebResults})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), bytes.NewReader(body))
	if err == nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return request, err
}

// webResult is one find. The providers call its text content or description, and some send it as HTML.
type webResult struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Content     string `json:"content"`
	Description string `json:"description"`
}

func oneLine(markup string, limit int) string {
	text := plainText(parseHTML(markup, &url.URL{}))
	return shorten(visible(strings.Join(strings.Fields(text), " ")), limit, 0)
}

// decodeResults reads {results: […]}, as SearXNG and Tavily send it.
func decodeResults(body []byte) ([]webResult, error) {
	var answer struct {
		Results []webResult `json:"results"`
	}
	err := json.Unmarshal(body, &answer)
	return answer.Results, err
}

func decodeBrave(body []byte) ([]webResult, error) {
	var answer struct {
		Web struct {
			Results []webResult `json:"results"`
		} `json:"web"`
	}
	err := json.Unmarshal(body, &answer)
	return answer.Web.Results, err
}
