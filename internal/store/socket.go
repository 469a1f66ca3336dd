package store

import (
	"net"
	"syscall"
)

// silentSocket reports whether nothing has arrived on an idle connection: no byte, no error, and not its end. It consumes nothing, and costs
// a microsecond.
//
// It bypasses the lock of readers: after a slow write, a goroutine of the driver reads in the background until something arrives, and waiting
// for it could take for ever.
func silentSocket(conn net.Conn) bool {
	if secured, is := conn.(interface{ NetConn() net.Conn }); is {
		conn = secured.NetConn()
	}
	socket, is := conn.(syscall.Conn)
	if !is {
		return true // it cannot be checked
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = err == syscall.EAGAIN || err == syscall.EINTR
	})
	return err == nil && silent
}
