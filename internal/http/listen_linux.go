package http

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout limits how long the peer may leave sent data unacknowledged.
func setUserTimeout(timeout time.Duration) func(network, address string, socket syscall.RawConn) error {
	return func(_, _ string, socket syscall.RawConn) error {
		var set error
		err := socket.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(timeout.Milliseconds()))
		})
		return errors.Join(err, set)
	}
}
