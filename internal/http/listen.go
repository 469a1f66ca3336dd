package http

import (
	"context"
	"net"
	"time"

	"signoff/internal/http/stream"
)

const (
	// unacknowledged is how long a client may leave unconfirmed what was sent to it. A client that has vanished without a word, with its
	// machine or its network, does not confirm the next heartbeat, and its connection is gone two heartbeats later. The system's own
	// patience is a quarter of an hour.
	unacknowledged = 2 * stream.HeartbeatEvery
	// probeEvery is for connections over which nothing is sent, such as a long poll: the system asks whether the client is there.
	probeEvery = 5 * time.Second
)

// Listen is net.Listen for TCP, over connections that find out about clients that have vanished.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return listen(ctx, address, unacknowledged)
}

func listen(ctx context.Context, address string, patience time.Duration) (net.Listener, error) {
	config := net.ListenConfig{
		Control: confirmWithin(patience), // what is accepted inherits it
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: stream.HeartbeatEvery, Interval: probeEvery, Count: int((unacknowledged - stream.HeartbeatEvery) / probeEvery),
		},
	}
	return config.Listen(ctx, "tcp", address)
}
