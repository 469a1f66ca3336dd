package http

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"

	"signoff/internal/http/stream"
)

const (
	// unacknowledged is how long a client may leave sent data unacknowledged. A client that vanished with its machine or its network does
	// not acknowledge the next heartbeat, and its connection is closed two heartbeats later. The system's own limit is a quarter of an hour.
	unacknowledged = 2 * stream.HeartbeatEvery
	// probeEvery is the interval of TCP keep-alive probes on connections without traffic, such as long polls.
	probeEvery = 5 * time.Second
	// addressPatience is how long a server waits for its address. A server that is killed while it starts a command leaves a child that has not
	// become the command yet and holds the address for a moment. A new server that gave up at once would not come back by itself.
	addressPatience = 5 * time.Second
)

// Listen is net.Listen for TCP. Its connections detect clients that have vanished. It waits up to five seconds for an address that is in use:
// [addressPatience] tells why.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, addressPatience)
	defer cancel()
	for warned := false; ; warned = true {
		listener, err := listen(ctx, address, unacknowledged)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		if !warned {
			slog.Warn("the address is in use, waiting up to five seconds for it", "address", address)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func listen(ctx context.Context, address string, timeout time.Duration) (net.Listener, error) {
	config := net.ListenConfig{
		Control: setUserTimeout(timeout), // accepted connections inherit it
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: stream.HeartbeatEvery, Interval: probeEvery, Count: int((unacknowledged - stream.HeartbeatEvery) / probeEvery),
		},
	}
	return config.Listen(ctx, "tcp", address)
}
