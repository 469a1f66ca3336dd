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

// Dialer connects to hosts that are granted, at addresses that are public, and to those of networks.
type Dialer struct {
	Hosts        []string // patterns, as [Covers] reads them; nil: any host. Empty but not nil: none
	Networks     networks // hosts of the operator's networks, which may lead to the private addresses that these list
	AllowPrivate bool     // connect to any address: for tests, and on an operator's explicit word

	resolver *net.Resolver // nil, but in tests: that of the machine
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
	dialer := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver}
	if !d.AllowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return d.reachable(host, address) }
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
	if d.Hosts != nil && !Covers(d.Hosts, host) && !d.Networks.list(host, port) {
		return "", "", blocked("%s is not among the hosts that were granted.", host)
	}
	return host, port, nil
}

// reachable judges the address that the kernel is about to connect to, after all names were resolved.
func (d Dialer) reachable(host, address string) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return blocked("The address of %s cannot be judged.", host).With(err)
	}
	if isOwn(resolved.Addr()) {
		return blocked("%s leads to this machine itself, so it is not connected to.", host)
	}
	if !Public(resolved.Addr()) && !d.Networks.open(host, resolved) {
		return blocked("%s leads to an address that is not public, so it is not connected to.", host).
			With(fmt.Errorf("egress: %s", resolved.Addr()))
	}
	return nil
}

// isOwn reports whether the address is one of this machine's. A public one is not reached by way of the internet from here,
// so a firewall on that way does not stand before the database behind it. All of the loopback leads here, and so does the address of no machine.
func isOwn(address netip.Addr) bool {
	address = carried(address)
	if address.IsLoopback() || address.IsUnspecified() || thisNetwork.Contains(address) {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // it may be
	}
	for _, one := range own {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr() == address.WithZone("") {
			return true
		}
	}
	return false
}

// thisNetwork has addresses that some systems take for their own.
var thisNetwork = netip.MustParsePrefix("0.0.0.0/8")

func blocked(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeDestinationBlocked, format, args...)
}
