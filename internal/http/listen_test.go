package http

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// A killed server may leave a child that holds the address for a moment.
func TestAnAddressThatIsInUseIsAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		free bool // the other lets go of the address, otherwise the start is stopped
		want error
	}{
		"until it is free":           {free: true},
		"until the start is stopped": {want: syscall.EADDRINUSE},
	} {
		t.Run(name, func(t *testing.T) {
			other, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer other.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			time.AfterFunc(100*time.Millisecond, func() {
				if c.free {
					other.Close()
				} else {
					stop()
				}
			})
			listener, err := Listen(ctx, other.Addr().String())
			if !errors.Is(err, c.want) {
				t.Fatalf("Listen fails with %v, want %v", err, c.want)
			}
			if listener != nil {
				listener.Close()
			}
		})
	}
}
