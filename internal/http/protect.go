package http

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/webhooks"
)

const (
	maxURI     = 8 << 10
	maxHeaders = 32 << 10
)

// protect refuses oversized headers, requests for another host, and requests that a web page of another origin sends through a
// browser. It covers every route, health and metrics included.
func (s *Server) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(r.RequestURI) > maxURI:
			s.fail(w, r, domain.Errorf(domain.CodeURITooLong, "The request line may have %d bytes.", maxURI))
		case headerBytes(r.Header) > maxHeaders:
			s.fail(w, r, domain.Errorf(codeHeadersTooLarge, "The headers may have %d bytes.", maxHeaders))
		case !s.hosts.allow(r):
			s.fail(w, r, domain.Errorf(domain.CodeMisdirected, "This server does not serve the host that the request names."))
		case crossSite(r) && !forLinkPage(r) && !navigatesToConsole(r):
			s.fail(w, r, domain.Errorf(domain.CodeForeignOrigin, "Only this server's own web pages may send requests to it."))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func headerBytes(header http.Header) int {
	total := 0
	for name, values := range header {
		for _, value := range values {
			total += len(name) + len(value) + 4
		}
	}
	return total
}

// hosts is the allow-list against DNS rebinding: a page whose name suddenly resolves to this machine still sends its own name as
// Host. Addresses of the machine itself cannot be rebound.
type hosts struct {
	names map[string]bool // lower case, with or without a port
}

func newHosts(extra []string) hosts {
	h := hosts{names: map[string]bool{}}
	for _, name := range extra {
		h.names[strings.ToLower(strings.TrimSpace(name))] = true
	}
	return h
}

func (h hosts) allow(r *http.Request) bool {
	full := strings.ToLower(r.Host)
	name := hostname(full)
	if name == "" {
		return false
	}
	if name == "localhost" || h.names[full] || h.names[name] {
		return true
	}
	address, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	return address.Unmap().IsLoopback() || address.Unmap() == localAddress(r)
}

// hostname returns host without its port and brackets; empty if it is malformed.
func hostname(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
		if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
			name = name[1 : len(name)-1]
		}
	}
	if strings.Trim(port, "0123456789") != "" || strings.ContainsAny(name, "/@?#[] ") {
		return ""
	}
	return strings.TrimSuffix(name, ".")
}

// localAddress is the address at which the connection arrived. A client that reaches the server there may name it.
func localAddress(r *http.Request) netip.Addr {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return netip.Addr{}
	}
	port, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Addr{}
	}
	return port.Addr().Unmap().WithZone("")
}

// crossSite reports whether a browser sent the request for a page of another origin. Reads count, too: with a rebound name or a
// stolen token an attacker wants nothing else.
func crossSite(r *http.Request) bool {
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r.Host) {
			return true
		}
	}
	return false
}

// forLinkPage reports whether the request is for the page of a link. People open it from a mail on another web site, and a browser that
// sends its form names no origin, because the page asks for no referrer. The browser holds no credential for this page: the token is in
// the link.
func forLinkPage(r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, webhooks.LinkPath) {
		return false
	}
	origin := r.Header.Get("Origin")
	return r.Method == http.MethodGet || origin == "null" && !strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site")
}

// navigatesToConsole reports whether a person opens the console by a link on another web site or in a chat. The page holds no secret
// and there are no cookies; its later requests come from its own origin. A browser sends no Origin when it navigates.
func navigatesToConsole(r *http.Request) bool {
	navigates := strings.EqualFold(r.Header.Get("Sec-Fetch-Mode"), "navigate") && strings.EqualFold(r.Header.Get("Sec-Fetch-Dest"), "document")
	return navigates && r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Origin") == ""
}

// sameOrigin ignores the scheme, because the server does not know it behind a proxy that ends TLS.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}
