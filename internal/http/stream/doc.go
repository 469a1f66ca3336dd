// Package stream sends events to clients: live, as an event stream (SSE), or page by page.
//
// A [Stream] is a loop over a [Follower]: it writes all frames, then waits for a notification. Every write has its own deadline, so a
// client that does not read is cut off after [FrameTimeout], and resumes by id when it reconnects. There is no queue per client. A quiet stream
// sends a comment every [HeartbeatEvery].
//
// A stream ends after the terminal event, when the hub drains, when the key of its sender is revoked and when the execution is deleted. A
// client that disconnects cancels nothing.
//
// A stream that has been quiet for [QuietAfter] hijacks its connection from net/http, and needs less than half the memory from then on
// (hijack.go). Its request is recorded when it ends.
//
//	hub := stream.NewHub(stream.Config{Keys: keys, Logger: log, Max: 20_000, Panicked: panicked})
//	opened, err := hub.Open(request, follow, synced)
//	abandoned := opened.Serve(w)
//
// [ReadPage] reads the same frames as a page, and [Hub.UntilEnd] only waits. [DeadlineWriter] is for other long responses.
//
// Any number of goroutines may use a [Hub] at once. A Stream belongs to one goroutine.
package stream
