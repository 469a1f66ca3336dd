// Package faultproxy is a TCP proxy on the loopback interface that does to connections what networks do to them.
//
// # Model
//
//	client ── link ── server        one link for each connection, two pumps in each
//
// A [Proxy] forwards bytes until it is given an order. An order holds for all links, also for those that come later, until the
// next [Proxy.Heal]:
//
//   - [Proxy.Delay]: every piece waits for a while, and none overtakes another;
//   - [Proxy.Swallow]: a black hole. Connections are accepted, bytes are taken, and nothing of it arrives;
//   - [Proxy.Hold]: nothing arrives now, and all of it when the network is back. This is what brings an old owner's
//     commit to the database long after somebody else has taken over.
//
// Others happen once: [Proxy.Reset] and [Proxy.HalfClose] to all links that are there, [Proxy.CutOn] and [Proxy.CutAfter] to the first
// link over which something comes, such as the word commit.
//
// Heal resets the links that have lost bytes: what follows a hole in a stream is no network's fault, but nonsense.
//
// A proxy can be told to mark the links whose clients have sent some text; [Proxy.SwallowMarked] is for those alone. So one
// connection of a program can be taken away from it while the others stay.
package faultproxy
