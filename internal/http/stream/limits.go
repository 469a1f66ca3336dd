package stream

import "time"

const (
	// FrameTimeout cuts off a client that does not read. The client resumes by id when it reconnects, so it misses nothing, and the server
	// buffers nothing for it.
	FrameTimeout = 10 * time.Second
	// HeartbeatEvery keeps proxies from closing a quiet stream, and detects clients that have vanished.
	HeartbeatEvery = 15 * time.Second
	// MaxWrite bounds the bytes of one write, so that a slow connection can take them within FrameTimeout.
	MaxWrite = 64 << 10
	// QuietAfter is the time without a write after which a stream counts as quiet.
	QuietAfter = 250 * time.Millisecond
)
