// Package stream sends events to clients: live, as an event stream (SSE), or page by page.
//
// A [Stream] is a loop over a [Follower]: write what is there, wait for its notification. Every write has a deadline of its own, so a client that
// does not read is cut after [FrameTimeout], and resumes by id when it is back. There is no queue per client. A quiet stream sends a comment
// every [HeartbeatEvery].
//
// A stream ends after the terminal event, when the hub drains, when the key of its sender is revoked and when the execution is deleted. A
// client that goes away cancels nothing.
//
// A stream that has been quiet for [QuietAfter] takes its connection over from net/http, and needs less than half the memory from then on
// (takeover.go). Its request is accounted for when it ends.
//
//	hub := stream.NewHub(stream.Config{Keys: keys, Logger: log, Max: 20_000, Panicked: panicked})
//	opened, err := hub.Open(request, follow, synced)
//	abandoned := opened.Serve(w)
//
// [ReadPage] reads the same frames as a page, and [Hub.UntilEnd] only waits. [Patient] is for other long answers.
//
// A [Hub] may be used by many goroutines at once, a Stream by one.
package stream
