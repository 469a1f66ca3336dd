package http

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confirmWithin sets how long the other end may leave unconfirmed what was sent to it.
func confirmWithin(patience time.Duration) func(network, address string, socket syscall.RawConn) error {
	return func(_, _ string, socket syscall.RawConn) error {
		var set error
		err := socket.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patience.Milliseconds()))
		})
		return errors.Join(err, set)
	}
}
