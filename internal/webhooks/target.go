package webhooks

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

const maxURL = 2000

// Targets says where requests may go: to public addresses by https, and to what the operator lists by whatever way.
type Targets struct {
	AllowHosts []string // "host" or "host:port"
}

// Check refuses a list with an entry that would never fit.
func (t Targets) Check() error {
	for i, entry := range t.AllowHosts {
		host, port := entry, "443"
		if h, p, err := net.SplitHostPort(entry); err == nil {
			host, port = h, p
		}
		if host == "*" || !egress.Pattern(host) || !isPort(port) {
			return domain.Invalid(domain.Pointer("webhooks", "allowHosts", strconv.Itoa(i)), "This is a host, or a host and its port, such as 127.0.0.1:9000.")
		}
	}
	return nil
}

// listed reports whether the operator allows the address, whatever it is.
func (t Targets) listed(host, port string) bool {
	return slices.ContainsFunc(t.AllowHosts, func(entry string) bool {
		name, only, err := net.SplitHostPort(entry)
		if err != nil {
			name, only = entry, port
		}
		return only == port && egress.Covers([]string{name}, host)
	})
}

// check refuses an invalid address. The address that a name resolves to is checked at each connection.
func (t Targets) check(address string) error {
	target, err := url.Parse(address)
	if err != nil || len(address) > maxURL {
		return domain.Invalid("/url", "This is not a URL, or it has more than %d bytes.", maxURL)
	}
	host, port := target.Hostname(), portOf(target)
	switch {
	case target.Scheme != "https" && target.Scheme != "http" || target.Host == "" || target.Opaque != "":
		return domain.Invalid("/url", "The URL must be absolute: https://host/path.")
	case target.User != nil:
		return domain.Invalid("/url", "The URL must not hold a name or password; requests are signed instead.")
	case target.Fragment != "" || strings.Contains(address, "#"):
		return domain.Invalid("/url", "The URL must not have a fragment: it would not be sent.")
	case !isPort(port):
		return domain.Invalid("/url", "The port of the URL is 1 to 65535.")
	case host == "*" || strings.HasPrefix(host, "*.") || !egress.Pattern(host):
		return domain.Invalid("/url", "The host of the URL is not a proper name or address.")
	case t.listed(host, port):
		return nil
	case target.Scheme == "http":
		return domain.Invalid("/url", "The URL must be https; the operator can allow other hosts by webhooks.allowHosts.")
	}
	if literal, err := netip.ParseAddr(host); err == nil && !egress.Public(literal) {
		return domain.Invalid("/url", "The address is not public; the operator can allow it by webhooks.allowHosts.")
	}
	return nil
}

func isPort(text string) bool {
	number, err := strconv.ParseUint(text, 10, 16)
	return err == nil && number != 0
}

func portOf(target *url.URL) string {
	switch {
	case target.Port() != "":
		return target.Port()
	case target.Scheme == "http":
		return "80"
	}
	return "443"
}

// dial connects to listed hosts, and otherwise to public addresses only.
func (t Targets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	dialer := egress.Dialer{AllowPrivate: err == nil && t.listed(host, port)}
	return dialer.DialContext(ctx, network, address)
}
