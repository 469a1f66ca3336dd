package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A command that is granted network still gets none: its namespace holds a loopback and nothing else. It gets a socket relay. The
// last stage listens on that loopback and sends the listening socket out to the server, before the command exists. A
// socket belongs to the namespace that it was made in, wherever it is held, so the server takes connections from inside
// without a single route leading out.

// openRelay listens, and sends the listening socket to the server. It returns the variables that name the proxy to programs.
func openRelay() ([]string, error) {
	listener, port, err := listenInside()
	if err != nil {
		return nil, fmt.Errorf("sandbox: listening for the command's connections: %w", err)
	}
	defer unix.Close(listener)
	defer unix.Close(relayFD)
	if err := unix.Sendmsg(relayFD, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return nil, fmt.Errorf("sandbox: handing the network to the server: %w", err)
	}
	return proxyVariables(port), nil
}

func listenInside() (listener, port int, err error) {
	listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, 0, err
	}
	if err := unix.Listen(listener, unix.SOMAXCONN); err != nil {
		return 0, 0, err
	}
	bound, err := unix.Getsockname(listener)
	if err != nil {
		return 0, 0, err
	}
	return listener, bound.(*unix.SockaddrInet4).Port, nil
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
