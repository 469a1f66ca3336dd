package egress

import (
	"net/netip"
	"strings"
)

// Covers reports whether one of the patterns grants the host: a name or an address, without a port. A pattern is a name,
// an address, *.name for everything below the name (and not the name itself), or * for every host.
//
// Names are compared as DNS does, whatever their case and with or without the dot at the end. What is not a proper name
// is covered by nothing: a name with a NUL in it, say, is one name to the check and another one to the resolver.
// Names in other scripts are written as DNS knows them, xn--…, in patterns and hosts alike.
func Covers(patterns []string, host string) bool {
	host, proper := canonical(host)
	if !proper {
		return false
	}
	for _, pattern := range patterns {
		if covers(pattern, host) {
			return true
		}
	}
	return false
}

func covers(pattern, host string) bool {
	if pattern == "*" {
		return true
	}
	below, isWild := strings.CutPrefix(pattern, "*.")
	name, proper := canonical(below)
	if !proper {
		return false
	}
	if isWild {
		return !isAddress(name) && strings.HasSuffix(host, "."+name)
	}
	return host == name
}

// Pattern reports whether [Covers] understands the pattern. Any other pattern covers nothing.
func Pattern(pattern string) bool {
	below, isWild := strings.CutPrefix(pattern, "*.")
	name, proper := canonical(below)
	return pattern == "*" || proper && (!isWild || !isAddress(name))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// canonical returns the canonical spelling of a host; false if it is no host.
func canonical(host string) (string, bool) {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String(), address.Zone() == ""
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", false
		}
	}
	return name, len(name) <= 253 && !isNumber(labels[len(labels)-1])
}

func isLabel(label string) bool {
	for _, char := range []byte(label) {
		isLetter := 'a' <= char && char <= 'z' || '0' <= char && char <= '9'
		if !isLetter && char != '-' && char != '_' {
			return false
		}
	}
	return label != "" && len(label) <= 63
}

// isNumber reports whether some resolvers take a name that ends with this label for an address: 2130706433, 127.1, 0x7f.1.
func isNumber(label string) bool {
	digits, isHex := strings.CutPrefix(label, "0x")
	allowed := "0123456789"
	if isHex {
		allowed += "abcdef"
	}
	return strings.Trim(digits, allowed) == ""
}
