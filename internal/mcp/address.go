package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

const (
	maxRedirects     = 5
	maxHeaderBytes   = 64 << 10
	maxDocumentBytes = 1 << 20 // of metadata, registrations and tokens
	handshakeTimeout = 10 * time.Second
	headerTimeout    = 30 * time.Second
	idleTimeout      = 30 * time.Second
)

// HTTPClient returns the client for everything that the server with a URL names: its metadata, its authorization server and that one's endpoints.
// A server is not trusted with where that is: an address is public, or it is the host of the configured URL. It has no cookies and no proxy. A redirect
// is followed without credentials, and never with a body, because a body of OAuth holds some.
func HTTPClient(server Server) *http.Client {
	reach := reachOf(server)
	transport := reach.transport()
	transport.ResponseHeaderTimeout = headerTimeout
	return &http.Client{
		Transport: bounded{transport, maxDocumentBytes},
		CheckRedirect: func(request *http.Request, via []*http.Request) error {
			if via[0].Method != http.MethodGet && via[0].Method != http.MethodHead {
				return http.ErrUseLastResponse
			}
			return reach.redirect(request, via)
		},
	}
}

// reach is where the requests for a server may lead.
type reach struct {
	scheme, host, port string // of the configured URL

	// private: the configured URL names a private host, whatever DNS says. Only then is the whole host open: a public name that led to the loopback
	// for a moment would open each port of this machine.
	private bool
}

func reachOf(server Server) reach {
	address, err := url.Parse(server.URL)
	if err != nil || address.Hostname() == "" || strings.Contains(address.Hostname(), "*") { // the catalog has refused it
		return reach{}
	}
	return reach{address.Scheme, address.Hostname(), portOf(address), isPrivate(address.Hostname())}
}

func portOf(address *url.URL) string {
	switch {
	case address.Port() != "":
		return address.Port()
	case address.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// isPrivate reports whether a host is private by its name alone.
func isPrivate(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return !egress.Public(address)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(name, ".") ||
		slices.ContainsFunc(privateDomains, func(below string) bool { return strings.HasSuffix(name, below) })
}

// privateDomains never exist in the public DNS: RFC 6761, RFC 6762, RFC 8375, and the resolution of ICANN on .internal.
var privateDomains = []string{".localhost", ".local", ".home.arpa", ".internal"}

func (r reach) transport() *http.Transport {
	return &http.Transport{
		DialContext:            r.dial,
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		IdleConnTimeout:        idleTimeout,
	}
}

func (r reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	own := err == nil && r.isOwn(host) && (r.private || port == r.port)
	return egress.Dialer{AllowPrivate: own}.DialContext(ctx, network, address)
}

func (r reach) isOwn(host string) bool { return r.host != "" && egress.Covers([]string{r.host}, host) }

// sameOrigin reports whether credentials for the server may be sent there.
func (r reach) sameOrigin(address *url.URL) bool {
	return address.Scheme == r.scheme && r.isOwn(address.Hostname()) && portOf(address) == r.port
}

// redirect judges a redirect, and takes the credentials out of the request. Its address is judged when it is connected to.
func (r reach) redirect(request *http.Request, via []*http.Request) error {
	from, to := via[len(via)-1].URL, request.URL
	switch {
	case len(via) > maxRedirects:
		return domain.Errorf(domain.CodeDestinationBlocked, "The MCP server redirects more than %d times.", maxRedirects)
	case to.Scheme != "http" && to.Scheme != "https" || to.User != nil:
		return domain.Errorf(domain.CodeDestinationBlocked, "The MCP server redirects to an address that is no plain http or https address.")
	case from.Scheme == "https" && to.Scheme == "http":
		return domain.Errorf(domain.CodeDestinationBlocked, "The MCP server redirects from https to http.")
	case request.Method != via[0].Method:
		return domain.Errorf(domain.CodeDestinationBlocked, "The MCP server redirects in a way that loses the request.")
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "Referer"} {
		request.Header.Del(name)
	}
	if !r.sameOrigin(to) {
		request.Header.Del("Mcp-Session-Id") // whoever has it can speak in the session
	}
	return nil
}

var errTooLarge = errors.New("mcp: the answer is too large")

// bounded cuts the bodies of answers.
type bounded struct {
	http.RoundTripper
	limit int64
}

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: b.limit}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(n)
	return n, err
}
