//go:build !linux

package http

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing, because only Linux has the option. Keep-alive probes and the system's own limit remain.
func setUserTimeout(time.Duration) func(network, address string, socket syscall.RawConn) error {
	return nil
}
