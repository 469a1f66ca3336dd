//go:build !linux

package http

import (
	"syscall"
	"time"
)

// confirmWithin does nothing where only Linux knows the option: there the probes of idle connections and the system's own patience are left.
func confirmWithin(time.Duration) func(network, address string, socket syscall.RawConn) error {
	return nil
}
