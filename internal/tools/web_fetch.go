package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

const (
	fetchFields     = `"url" (string) and optionally "maxBytes" (whole number)`
	maxURLBytes     = 4096
	defaultMaxBytes = 32 << 10
	leastMaxBytes   = 1 << 10
	mostMaxBytes    = 256 << 10
	errorPageBytes  = 2 << 10
	userAgent       = "signoff"
	acceptedMedia   = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.1"
)

//go:embed web_fetch.md
var fetchText string

// WebFetch gets a text of the web, or of a private host that the environment's networks list. It does not run in the environment: what it may
// connect to is decided by [egress.Dialer], at each dial, by the same table as for commands.
type WebFetch struct {
	AllowPrivate bool // also addresses of the private network: for tests
}

var _ Tool = WebFetch{}

type fetchArguments struct {
	url      *url.URL
	maxBytes int
}

// Definition implements [Tool].
func (WebFetch) Definition() Definition {
	return Definition{
		Name:        "web_fetch",
		Version:     "1",
		Class:       domain.ClassNetwork,
		Description: fetchText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"url": {"type": "string", "description": "An http or https URL."},
				"maxBytes": {"type": "integer", "minimum": 1024, "maximum": 262144,
					"description": "How much of the text you get. Default 32768."}
			},
			"required": ["url"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (WebFetch) Check(arguments json.RawMessage, _ string) (Intent, error) {
	parsed, err := readFetchArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Summary: "Fetch " + code(parsed.url.String()),
		Action:  domain.Action{Hosts: []string{parsed.url.Hostname()}},
	}, nil
}

// Run implements [Tool].
func (w WebFetch) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	parsed, err := readFetchArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	page, err := w.fetch(ctx, parsed.url, host.Environment().Networks)
	if err != nil {
		return failed("", err)
	}
	content := page.content()
	if page.status >= http.StatusMultipleChoices {
		return failed(content[:runeCut(content, errorPageBytes)], refusal(page.status))
	}
	return LongText(ctx, host, call.ID, content, parsed.maxBytes)
}

func (w WebFetch) fetch(ctx context.Context, target *url.URL, networks []domain.Network) (webPage, error) {
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return webPage{}, webError(ctx, err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", acceptedMedia)
	response, err := webClient(egress.Dialer{Hosts: []string{target.Hostname()}, Networks: networks, AllowPrivate: w.AllowPrivate}).Do(request)
	if err != nil {
		return webPage{}, webError(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	page, err := readPage(ctx, response)
	if err != nil && response.StatusCode >= http.StatusMultipleChoices {
		return webPage{}, refusal(response.StatusCode).With(err)
	}
	return page, err
}

func refusal(status int) *domain.Error {
	named := strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
	return domain.Errorf(domain.CodeToolFailed, "The host answered with the status %s.", named)
}

func readFetchArguments(arguments json.RawMessage) (fetchArguments, error) {
	members := readFields(arguments, fetchFields, "url", "maxBytes")
	text, maxBytes := members.text("url", maxURLBytes), members.number("maxBytes", defaultMaxBytes, leastMaxBytes, mostMaxBytes)
	if members.mistake != nil {
		return fetchArguments{}, members.mistake
	}
	target, err := readURL(text)
	return fetchArguments{target, maxBytes}, err
}

// readURL reads a URL in the one spelling in which it is shown, judged and fetched: without a user, which browsers hide
// and which makes https://good.example@evil.example look like the wrong host; without a fragment, which nobody
// sends; with the host as DNS knows it.
func readURL(text string) (*url.URL, error) {
	target, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, invalid(`The field "url" is no URL.`)
	}
	target.Scheme = strings.ToLower(target.Scheme)
	switch {
	case target.Scheme != "http" && target.Scheme != "https" || target.Opaque != "":
		return nil, invalid(`The field "url" must begin with http:// or https://.`)
	case target.User != nil:
		return nil, invalid(`The field "url" must not hold a user name or a password.`)
	}
	host, err := hostName(target.Hostname())
	if err != nil {
		return nil, invalid(`The host in the field "url" is not a proper name or address.`)
	}
	target.Host = withPort(host, target.Port())
	target.Fragment, target.RawFragment = "", ""
	return target, nil
}

func withPort(host, port string) string {
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// hostName is the host in ASCII and lower case, without the dot at the end.
func hostName(host string) (string, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", err
		}
		host = ascii
	}
	if strings.Contains(host, "*") || !egress.Pattern(host) {
		return "", errors.New("tools: not a host")
	}
	return host, nil
}
