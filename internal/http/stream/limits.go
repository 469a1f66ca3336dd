package stream

import "time"

const (
	// FrameTimeout cuts a client that does not read. It resumes by id when it comes back, so nothing is lost, and
	// nothing is buffered for it meanwhile.
	FrameTimeout = 10 * time.Second
	// HeartbeatEvery keeps proxies from closing a quiet stream, and finds clients that went away unseen.
	HeartbeatEvery = 15 * time.Second
	// MaxWrite bounds what must pass within FrameTimeout, so that a slow line is not taken for a dead one.
	MaxWrite = 64 << 10
	// QuietAfter is how long nothing was sent before a stream counts as quiet.
	QuietAfter = 250 * time.Millisecond
)
