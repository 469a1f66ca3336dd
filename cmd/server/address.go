package main

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// validateAddr refuses an address on which no server can listen, or that no browser opens: the printed link would fail first. A port must be
// a number.
func validateAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return usagef("SIGNOFF_ADDR is host:port, not %q", addr)
	case host != "" && !isHost(host):
		return usagef("SIGNOFF_ADDR begins with the name or the address of a host, not with %q", host)
	case port != "" && !isPort(port):
		return usagef("SIGNOFF_ADDR ends with a port, a number from 0 to 65535, not with %q", port)
	}
	return nil
}

func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isHost reports whether the URL standard allows the name or address as a host. A name whose last label is a number must be a valid
// address.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	name := strings.TrimSuffix(host, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("\"#%/:<>?@[\\]^`{|}", r)
	})
}

// zoned reports whether the host is an address of one network interface, like fe80::1%eth0. A server can listen there, but no browser
// opens it.
func zoned(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() != ""
}
