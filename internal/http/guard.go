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

// guard refuses what no route should ever see: oversized heads, requests meant for another host, and requests that a
// web page of another origin sends through somebody's browser. It holds on every route, health and metrics included.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.refuse(r); err != nil {
			s.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) refuse(r *http.Request) error {
	switch {
	case len(r.RequestURI) > maxURI:
		return domain.Errorf(domain.CodeURITooLong, "The request line may have %d bytes.", maxURI)
	case headerBytes(r.Header) > maxHeaders:
		return domain.Errorf(codeHeadersTooLarge, "The headers may have %d bytes.", maxHeaders)
	case !s.hosts.allow(r):
		return domain.Errorf(domain.CodeMisdirected, "This server does not answer for the host that the request names.")
	case crossSite(r) && !linkPage(r) && !frontDoor(r):
		return domain.Errorf(domain.CodeForeignOrigin, "Requests of web pages are taken from this server's own pages only.")
	}
	return nil
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

// hosts is the allow-list against DNS rebinding: a page whose name suddenly points to this machine still sends its own
// name as Host. Addresses of the machine itself cannot be rebound.
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

// hostname is host without its port and brackets; empty where it is not well-formed.
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

// localAddress is where the connection arrived: who sees the server under that address may name it.
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

// crossSite tells whether a browser sent the request for a page of another origin. Reads count too: with a rebound
// name or a stolen token they are all that an attacker wants.
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

// linkPage tells whether the request is for the page of a link: a person comes there from a mail on some web site, and a browser that sends
// its form names no origin, since the page asks for no referrer. Nothing that the browser keeps is a credential there: whoever has the
// token needs nobody's browser.
func linkPage(r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, webhooks.LinkPath) {
		return false
	}
	origin := r.Header.Get("Origin")
	return r.Method == http.MethodGet || origin == "null" && !strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site")
}

// frontDoor tells whether a person comes to the console by a link, in a mail on some web site or in a chat. The page holds no secret, and there
// is no cookie that it could act with; what it loads and asks for then comes from itself. A browser sends no Origin where it only goes to a page.
func frontDoor(r *http.Request) bool {
	goes := strings.EqualFold(r.Header.Get("Sec-Fetch-Mode"), "navigate") && strings.EqualFold(r.Header.Get("Sec-Fetch-Dest"), "document")
	return goes && r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Origin") == ""
}

// sameOrigin compares without the scheme: behind a proxy that ends TLS the server cannot know it.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}
