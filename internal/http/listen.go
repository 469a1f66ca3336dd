package http

import (
	"context"
	"net"
	"time"

	"signoff/internal/http/stream"
)

const (
	// unacknowledged is how long a client may leave sent data unacknowledged. A client that vanished with its machine or its network does
	// not acknowledge the next heartbeat, and its connection is closed two heartbeats later. The system's own limit is a quarter of an hour.
	unacknowledged = 2 * stream.HeartbeatEvery
	// probeEvery is the interval of TCP keep-alive probes on connections without traffic, such as long polls.
	probeEvery = 5 * time.Second
)

// Listen is net.Listen for TCP. Its connections detect clients that have vanished.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return listen(ctx, address, unacknowledged)
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
