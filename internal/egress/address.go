package egress

import "net/netip"

// notPublic are the addresses that the registries of special addresses (RFC 6890) list as not globally reachable, and one that
// looks public: at the last one, Azure answers every virtual machine with its configuration.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
	"168.63.129.16/32",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3") // all that is public in IPv6 lies in here
	sixToFour     = netip.MustParsePrefix("2002::/16")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, one := range all {
		parsed[i] = netip.MustParsePrefix(one)
	}
	return parsed
}

// Public reports whether the address belongs to the internet. An IPv6 address that carries an IPv4 address is as public as that
// one, because the packets arrive there.
func Public(address netip.Addr) bool {
	if !address.IsValid() || address.Zone() != "" {
		return false
	}
	address = carried(address)
	for _, prefix := range notPublic {
		if prefix.Contains(address) {
			return false
		}
	}
	return address.Is4() || globalUnicast.Contains(address)
}

// carried returns the IPv4 address inside an IPv6 address, or the address itself.
func carried(address netip.Addr) netip.Addr {
	bytes := address.As16()
	switch {
	case address.Is4In6():
		return address.Unmap()
	case sixToFour.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	case nat64.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[12:16]))
	}
	return address
}
