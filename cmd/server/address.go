package main

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// validateAddr refuses addresses on which nothing can listen or that no browser opens: otherwise the printed link would be the first
// to fail. A port by its name is one of these.
func (c Config) validateAddr() error {
	host, port, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil:
		return usagef("SIGNOFF_ADDR is host:port, not %q", c.Addr)
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

// isHost reports whether the URL standard allows the name or address as a host. A name that ends in a number is
// read as an address, and is one or nothing.
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

// zoned reports whether the host is an address of one network interface, like fe80::1%eth0. A server listens there; there is no
// way to write it that browsers would open.
func zoned(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() != ""
}
