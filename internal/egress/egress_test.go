package egress

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"signoff/internal/domain"
)

func TestPublic(t *testing.T) {
	for _, text := range []string{
		"8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.0.1", "168.63.129.17", "223.255.255.254",
		"2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "2002:808:808::1", "64:ff9b::8.8.8.8",
	} {
		if !Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.255", "169.254.169.254",
		"169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
		"198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"168.63.129.16", "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:db8::1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fe80::1%eth0", "2606:4700::1111%eth0", "fec0::1", "ff02::1",
	} {
		if Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCovers(t *testing.T) {
	patterns := []string{"example.com", "*.example.org", "xn--bcher-kva.example", "Upper.Example.", "192.0.2.1", "2606:4700::1111"}
	for _, host := range []string{
		"example.com", "EXAMPLE.com", "example.com.", "go.example.org", "a.b.example.org", "GO.Example.org.", "xn--bcher-kva.example",
		"XN--BCHER-KVA.example", "upper.example", "192.0.2.1", "::ffff:192.0.2.1", "2606:4700:0:0::1111",
	} {
		if !Covers(patterns, host) {
			t.Errorf("%q is covered", host)
		}
	}
	for _, host := range []string{
		"", ".", "..", "example.org", "evilexample.org", "example.org.evil.com", "notexample.com", "www.example.com", "example.com.evil.com",
		"example.com..", "example.com\x00.evil.com", "evil.com\x00.example.org", "evil.com\n.example.org", "evil.com#.example.org",
		"evil.com/.example.org", "evil.com?.example.org", "user@go.example.org", "evil.com@go.example.org", "go.example.org:443",
		"[2606:4700::1111]", "2606:4700::1111%eth0", "bücher.example", "ｅxample.com", "example。com", "exam\u00adple.com", "example.com ",
		" example.com", "*.example.org", "*", "a..example.org", ".example.org", "%65xample.com", "192.0.2.01", "0xc0.0.2.1", "3221225985",
		strings.Repeat("a.", 130) + "example.org", strings.Repeat("a", 64) + ".example.org",
	} {
		if Covers(patterns, host) {
			t.Errorf("%q is not covered", host)
		}
	}
}

func TestStarCoversProperHostsOnly(t *testing.T) {
	for host, want := range map[string]bool{
		"example.com": true, "8.8.8.8": true, "::1": true, "localhost": true, "a_b.example": true, "": false, "127.1": false,
		"0x7f000001": false, "2130706433": false, "a.0x": false, "a b": false, "a\x00b": false,
	} {
		if got := Covers([]string{"*"}, host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	for _, patterns := range [][]string{nil, {}, {""}, {"*."}, {"**"}, {"*example.com"}, {"*.*.com"}, {"example.*"}, {"https://example.com"}, {"*.2.1"}} {
		for _, host := range []string{"example.com", "a.example.com", "192.0.2.1"} {
			if Covers(patterns, host) {
				t.Errorf("%q covers %s", patterns, host)
			}
		}
	}
}

func TestPattern(t *testing.T) {
	for pattern, want := range map[string]bool{
		"*": true, "example.com": true, "*.example.com": true, "192.0.2.1": true, "localhost": true,
		"": false, "*.": false, "**": false, "*.192.0.2.1": false, "*.*.com": false, "a*.com": false, "http://a": false, "a:443": false,
		"bücher.example": false,
	} {
		if got := Pattern(pattern); got != want {
			t.Errorf("%q: %v", pattern, got)
		}
	}
}

func TestDialRefuses(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1:80", "localhost:80", "LOCALHOST.:80", "0.0.0.0:80", "[::]:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "[::ffff:a9fe:a9fe]:80",
		"169.254.169.254:80", "10.0.0.1:5432", "2130706433:80", "127.1:80", "0x7f.0.0.1:80", "0177.0.0.1:80", "[fe80::1%lo]:80",
		"[64:ff9b::7f00:1]:80", "example.com", "example.com:", "example.com:0", "example.com:080", "example.com:+80", "example.com:http",
		"example.com:65536", "example.com:80:443", "user@example.com:80", ":80", "", "exa\x00mple.com:80", "bücher.example:80",
	} {
		_, err := Dialer{}.DialContext(t.Context(), "tcp", address)
		if domain.CodeOf(err) != domain.CodeDestinationBlocked {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, network := range []string{"udp", "unix", "ip4:icmp", ""} {
		if _, err := (Dialer{}).DialContext(t.Context(), network, "example.com:80"); domain.CodeOf(err) != domain.CodeDestinationBlocked {
			t.Errorf("%s: %v", network, err)
		}
	}
}

func TestDialAsksForTheNameFirst(t *testing.T) {
	for _, hosts := range [][]string{{}, {"example.org"}, {"*.example.com"}} {
		_, err := Dialer{Hosts: hosts, AllowPrivate: true}.DialContext(t.Context(), "tcp", "localhost:80")
		if domain.CodeOf(err) != domain.CodeDestinationBlocked || !strings.Contains(err.Error(), "granted") {
			t.Errorf("%q: %v", hosts, err)
		}
	}
}

// TestGrantedNameDoesNotGrantItsAddress is rebinding at its plainest: the name is granted, and leads to the loopback.
func TestGrantedNameDoesNotGrantItsAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	_, err := Dialer{Hosts: []string{"localhost"}}.DialContext(t.Context(), "tcp", "localhost:"+port)
	if domain.CodeOf(err) != domain.CodeDestinationBlocked {
		t.Errorf("error %v", err)
	}
	connection, err := Dialer{Hosts: []string{"localhost"}, AllowPrivate: true}.DialContext(t.Context(), "tcp", "LocalHost.:"+port)
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
}

// TestOwnAddressesAreRefused takes every address that this machine has: those that are public are not special to Public.
func TestOwnAddressesAreRefused(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range own {
		prefix := netip.MustParsePrefix(one.String())
		if !isOwn(prefix.Addr()) {
			t.Errorf("%s is this machine's", prefix)
		}
	}
	if isOwn(netip.MustParseAddr("8.8.8.8")) {
		t.Error("8.8.8.8 is not this machine's")
	}
}

// TestTransportSeesTheRefusal is how web_fetch uses it: the code survives the layers of net/http.
func TestTransportSeesTheRefusal(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{DialContext: Dialer{}.DialContext}}
	request, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://169.254.169.254/latest/meta-data/", nil)
	response, err := client.Do(request)
	if err == nil {
		response.Body.Close()
	}
	if domain.CodeOf(err) != domain.CodeDestinationBlocked {
		t.Errorf("error %v", err)
	}
}
