package egress

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"signoff/internal/domain"
)

var corp = networks{{
	Name: "corp", Hosts: []string{"10.99.0.1", "169.254.169.254", "*.svc.example", "api.corp.example"},
	CIDRs: []string{"10.20.0.0/16", "169.254.0.0/16", "fd00::/8", "127.0.0.0/8"}, Ports: []uint16{443, 6443},
}}

// What a name leads to decides, not the name: a name of the list that leads elsewhere reaches nothing private.
func TestNetworksOpenTheirRangesOnly(t *testing.T) {
	for _, c := range []struct {
		host, address string
		open          bool
	}{
		{"api.corp.example", "10.20.1.2:443", true},
		{"api.corp.example", "10.20.1.2:6443", true},
		{"a.svc.example", "[fd12::1]:443", true},
		{"10.99.0.1", "10.99.0.1:443", true}, // written out
		{"169.254.169.254", "169.254.169.254:443", true},
		{"api.corp.example", "8.8.8.8:443", true},
		{"api.corp.example", "10.20.1.2:22", false},
		{"api.corp.example", "10.21.1.2:443", false},
		{"api.corp.example", "192.168.1.1:443", false},
		{"api.corp.example", "169.254.169.254:443", false},
		{"api.corp.example", "[fd00:ec2::254]:443", false},
		{"api.corp.example", "127.0.0.1:443", false},
		{"api.corp.example", "[::ffff:127.0.0.1]:443", false},
		{"svc.example", "10.20.1.2:443", false},
		{"other.example", "10.20.1.2:443", false},
		{"10.20.1.2", "10.20.1.2:443", false}, // in a range, but no host of the list
	} {
		err := Dialer{Networks: corp}.reachable(c.host, c.address)
		if open := err == nil; open != c.open || !open && domain.CodeOf(err) != domain.CodeDestinationBlocked {
			t.Errorf("%s at %s: %v", c.host, c.address, err)
		}
	}
}

// Whatever a network lists, the server's own addresses stay shut, in each of their forms.
func TestNetworksOpenNoAddressOfTheServer(t *testing.T) {
	careless := networks{{Name: "all", Hosts: []string{"own.example"}, Ports: []uint16{443}}}
	own := []string{"127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		own = append(own, netip.MustParsePrefix(address.String()).Addr().String())
	}
	for _, text := range own {
		address := netip.MustParseAddr(text)
		careless[0].Hosts = append(careless[0].Hosts, text)
		careless[0].CIDRs = append(careless[0].CIDRs, netip.PrefixFrom(address, address.BitLen()).String())
	}
	for _, text := range own {
		for _, host := range []string{"own.example", text} {
			to := netip.AddrPortFrom(netip.MustParseAddr(text), 443).String()
			if err := (Dialer{Networks: careless}).reachable(host, to); domain.CodeOf(err) != domain.CodeDestinationBlocked {
				t.Errorf("%s at %s: %v", host, to, err)
			}
		}
	}
}

// A name that leads to a public address at first and to this machine when it is connected to gains nothing: the address of each connection is judged.
func TestRebindingGainsNothing(t *testing.T) {
	site, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	go func() {
		if connection, err := site.Accept(); err == nil {
			t.Error("the server was reached")
			connection.Close()
		}
	}()
	answers := resolver(t, [4]byte{127, 0, 0, 1})
	_, port, _ := net.SplitHostPort(site.Addr().String())
	number, _ := strconv.ParseUint(port, 10, 16)
	listed := networks{{Name: "corp", Hosts: []string{"rebind.example"}, CIDRs: []string{"127.0.0.0/8", "10.0.0.0/8"}, Ports: []uint16{uint16(number)}}}
	for range 3 {
		_, err := Dialer{Networks: listed, resolver: answers}.DialContext(t.Context(), "tcp", "rebind.example:"+port)
		if domain.CodeOf(err) != domain.CodeDestinationBlocked {
			t.Fatal(err)
		}
	}
}

// resolver answers every question about an IPv4 address with the same one, as a name server does that somebody else controls.
func resolver(t *testing.T, address [4]byte) *net.Resolver {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var question dnsmessage.Message
			if question.Unpack(buffer[:n]) != nil {
				continue
			}
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true}, Questions: question.Questions}
			if asked := question.Questions[0]; asked.Type == dnsmessage.TypeA {
				answer.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: asked.Class, Type: asked.Type}, Body: &dnsmessage.AResource{A: address}}}
			}
			if packed, err := answer.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestNetworksListNamesAndPorts(t *testing.T) {
	none := Dialer{Hosts: []string{}, Networks: corp}
	for address, granted := range map[string]bool{
		"api.corp.example:443": true, "API.corp.example.:6443": true, "x.svc.example:443": true, "10.99.0.1:443": true,
		"api.corp.example:80": false, "corp.example:443": false, "svc.example:443": false, "10.20.1.2:443": false,
	} {
		if _, _, err := none.granted(address); (err == nil) != granted {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, _, err := (Dialer{Hosts: []string{"go.example"}, Networks: corp}).granted("go.example:80"); err != nil {
		t.Error("a network takes nothing from the hosts of a request:", err)
	}
}
