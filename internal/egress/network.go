package egress

import (
	"net/netip"
	"slices"
	"strconv"

	"signoff/internal/domain"
)

// networks are the operator's private networks. A request cannot name others.
type networks []domain.Network

// list reports whether a network names the host and port.
func (all networks) list(host, port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && slices.ContainsFunc(all, func(n domain.Network) bool {
		return slices.Contains(n.Ports, uint16(number)) && Covers(n.Hosts, host)
	})
}

// open reports whether a network opens a private address to the host. The host must be one of the network's, at one of its ports, and
// the address in one of its ranges. An address that the operator has written out as a host needs no range.
func (all networks) open(host string, to netip.AddrPort) bool {
	address := carried(to.Addr())
	return slices.ContainsFunc(all, func(n domain.Network) bool {
		switch {
		case !slices.Contains(n.Ports, to.Port()) || !Covers(n.Hosts, host):
			return false
		case isAddress(host) && slices.Contains(n.Hosts, host):
			return true
		case isMetadata(address):
			return false
		}
		return slices.ContainsFunc(n.CIDRs, func(text string) bool {
			cidr, err := netip.ParsePrefix(text)
			return err == nil && cidr.Contains(address)
		})
	})
}

// metadata are the addresses at which clouds answer a virtual machine with its keys. A range never opens them.
var metadata = prefixes(
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "169.254.0.23/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128",
)

func isMetadata(address netip.Addr) bool {
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(address) })
}
