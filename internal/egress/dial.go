package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"signoff/internal/domain"
)

// Dialer connects to hosts that are granted, at addresses that are public.
type Dialer struct {
	Hosts        []string // patterns, as [Covers] reads them; nil: any host. Empty but not nil: none
	AllowPrivate bool     // connect to any address: for tests, and on an operator's explicit word
}

const dialTimeout = 15 * time.Second

// DialContext connects to an address such as "example.com:443". It fits the DialContext of an http.Transport.
// A refusal is a [domain.CodeDestinationBlocked]; other errors are those of package net.
//
// It skips the addresses of a name that are not public.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, blocked("Connections over %s are not made, only TCP ones.", network)
	}
	host, port, err := d.granted(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	if !d.AllowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return reachable(host, address) }
	}
	connection, err := dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return nil, refusal
	}
	return connection, err
}

// granted splits the address and returns its host in the spelling that was compared, so that the dialer resolves the judged
// name.
func (d Dialer) granted(address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		return "", "", blocked("%s is not a host with a port.", strconv.Quote(address))
	}
	host, proper := canonical(host)
	if !proper {
		return "", "", blocked("The host of %s is not a proper name or address.", strconv.Quote(address))
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 || port[0] == '0' {
		return "", "", blocked("The port of %s is not a number from 1 to 65535.", strconv.Quote(address))
	}
	if d.Hosts != nil && !Covers(d.Hosts, host) {
		return "", "", blocked("%s is not among the hosts that were granted.", host)
	}
	return host, port, nil
}

// reachable judges the address that the kernel is about to connect to, after all names were resolved.
func reachable(host, address string) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return blocked("The address of %s cannot be judged.", host).With(err)
	}
	if !Public(resolved.Addr()) {
		return blocked("%s leads to an address that is not public, so it is not connected to.", host).
			With(fmt.Errorf("egress: %s", resolved.Addr()))
	}
	if isOwn(resolved.Addr()) {
		return blocked("%s leads to this machine itself, so it is not connected to.", host)
	}
	return nil
}

// isOwn reports whether the address is one of this machine's. A public one is not reached by way of the internet from here,
// so a firewall on that way does not stand before the database behind it.
func isOwn(address netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // it may be
	}
	for _, one := range own {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr() == address.Unmap() {
			return true
		}
	}
	return false
}

func blocked(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeDestinationBlocked, format, args...)
}
