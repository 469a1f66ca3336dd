package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A command that is granted network still gets none: its namespace holds a loopback and nothing else. It gets a socket relay. The
// last stage listens on that loopback and sends the listening socket out to the server, before the command exists. A
// socket belongs to the namespace that it was made in, wherever it is held, so the server takes connections from inside
// without a single route leading out.

// placesOf gives each host an address of its own: several may have the same port.
func placesOf(relays []string) ([]relayPlace, error) {
	places := make([]relayPlace, len(relays))
	addresses := map[string][4]byte{}
	for i, relay := range relays {
		host, port, _ := strings.Cut(relay, ":")
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("sandbox: %q is no relay: %w", relay, err)
		}
		address, known := addresses[host]
		if host == processHost {
			address, known = [4]byte{127, 0, 0, 2}, true // ps finds it without looking it up
		}
		if !known {
			n := len(addresses)
			address = [4]byte{127, 0, byte(1 + n/250), byte(1 + n%250)}
			addresses[host] = address
		}
		places[i] = relayPlace{host, uint16(number), address}
	}
	return places, nil
}

// hostsFile names the relays to programs, as hosts(5) says.
func hostsFile(places []relayPlace) []byte {
	text := []byte("127.0.0.1 localhost\n::1 localhost\n")
	for i, place := range places {
		if i == 0 || places[i-1].Host != place.Host {
			text = fmt.Appendf(text, "%d.%d.%d.%d %s\n", place.Address[0], place.Address[1], place.Address[2], place.Address[3], place.Host)
		}
	}
	return text
}

// openRelay listens for the proxy and at the places of the relays, and sends the listening sockets to the server. It returns the variables
// that name the proxy to programs.
func (p plan) openRelay() ([]string, error) {
	relay := p.relayFD()
	defer unix.Close(relay)
	port, err := sendListener(relay, [4]byte{127, 0, 0, 1}, 0)
	if err != nil {
		return nil, err
	}
	for _, place := range p.Relays {
		if _, err := sendListener(relay, place.Address, place.Port); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", place.Host, place.Port, err)
		}
	}
	return proxyVariables(port), nil
}

func sendListener(relay int, address [4]byte, port uint16) (int, error) {
	listener, bound, err := listenInside(address, port)
	if err != nil {
		return 0, fmt.Errorf("sandbox: listening for the command's connections: %w", err)
	}
	defer unix.Close(listener)
	if err := unix.Sendmsg(relay, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return 0, fmt.Errorf("sandbox: handing the network to the server: %w", err)
	}
	return bound, nil
}

func listenInside(address [4]byte, port uint16) (listener, bound int, err error) {
	listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: address, Port: int(port)}); err != nil {
		return 0, 0, err
	}
	if err := unix.Listen(listener, unix.SOMAXCONN); err != nil {
		return 0, 0, err
	}
	name, err := unix.Getsockname(listener)
	if err != nil {
		return 0, 0, err
	}
	return listener, name.(*unix.SockaddrInet4).Port, nil
}

// proxyVariables name the proxy in all spellings that programs read. Node needs a switch besides.
func proxyVariables(port int) []string {
	variables := []string{
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		variables = append(variables, fmt.Sprintf("%s=http://127.0.0.1:%d", name, port))
	}
	return variables
}
