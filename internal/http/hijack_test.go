package http

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/http/stream"
)

// asked is how often the events of an execution were asked for, by the status that the log and the metrics tell.
func (b *bubble) asked(status int) string {
	return metric(b, b.server, fmt.Sprintf(`signoff_http_requests_total{method="GET",route="/executions/{id}/events",status="%d"}`, status))
}

func TestAQuietStreamGoesOnWithoutItsHandler(t *testing.T) {
	inBubble(t, func(b *bubble) {
		said := b.read(b.send(openStream))
		busy := b.read(b.send(openStream))
		for range 10 {
			time.Sleep(stream.QuietAfter / 2)
			b.say("busy")
		}
		said()
		if busy(); b.hijacked() != 0 {
			t.Error("a busy stream was taken from its connection")
		}
		time.Sleep(stream.QuietAfter)
		synctest.Wait()
		if got := b.hijacked(); got != 2 {
			t.Fatalf("%d of 2 quiet streams were taken over", got)
		}
		if got := b.asked(200); got != "" {
			t.Errorf("%v requests are told of while they go on", got)
		}
		b.say("one")
		b.say("two")
		if got := said(); got != "message.delta message.delta" {
			t.Errorf("%q", got)
		}
		b.end()
		for _, said := range []func() string{said, busy} {
			if got := said(); !strings.HasSuffix(got, "execution.completed whole") {
				t.Errorf("at the end: %q", got)
			}
		}
		if b.hijacked() != 0 || b.streams() != 0 || b.asked(200) != "2" {
			t.Errorf("%d connections, %d streams, %v requests after the end", b.hijacked(), b.streams(), b.asked(200))
		}
	})
}

func TestAnAnswerWithoutChunksKeepsItsHandler(t *testing.T) {
	inBubble(t, func(b *bubble) {
		connection := b.send(oldStream)
		said := b.read(connection)
		time.Sleep(stream.HeartbeatEvery + time.Second)
		if got := said(); got != "stream.synced heartbeat" || b.hijacked() != 0 {
			t.Errorf("%q, %d connections were taken over", got, b.hijacked())
		}
		connection.Close()
		synctest.Wait()
	})
}

func TestAClientThatLeavesAQuietStreamIsSeenAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		connection := b.send(openStream)
		b.read(connection)
		time.Sleep(time.Second)
		connection.Close()
		synctest.Wait()
		if b.streams() != 0 || b.asked(499) != "1" {
			t.Errorf("%d streams, %v requests were abandoned", b.streams(), b.asked(499))
		}
	})
}

func TestAQuietStreamThatIsNotReadAnyMoreIsCut(t *testing.T) {
	inBubble(t, func(b *bubble) {
		for _, request := range []string{openStream, oldStream} {
			connection := b.send(request)
			buffer := make([]byte, 4096)
			for range 2 { // the head, and the mark
				_, err := connection.Read(buffer)
				must(t, err)
			}
			time.Sleep(time.Second)
			b.say("nobody reads this")
			time.Sleep(stream.FrameTimeout)
			synctest.Wait()
			if got := b.streams(); got != 0 {
				t.Errorf("%d streams after the deadline", got)
			}
			connection.Close()
		}
		if got := metric(t, b.server, "signoff_http_streams_cut_total"); got != "2" {
			t.Errorf("%v of 2 streams were cut", got)
		}
	})
}

func TestAStreamThatWasTakenOverEndsByDrainAndByRevocation(t *testing.T) {
	for name, end := range map[string]func(b *bubble){
		"drain":      func(b *bubble) { b.server.Drain() },
		"revocation": func(b *bubble) { close(b.keys.revoked); b.say("secret") },
		"deletion":   func(b *bubble) { b.log.Forget(someID) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				said := b.read(b.send(openStream))
				time.Sleep(time.Second)
				if got := said(); got != "stream.synced" || b.hijacked() != 1 {
					t.Fatalf("%q, %d connections were taken over", got, b.hijacked())
				}
				end(b)
				want := map[string]string{
					"drain":      "the server is stopping, reconnect in a moment whole",
					"revocation": "the key is no longer valid whole",
					"deletion":   "the execution was deleted whole",
				}[name]
				if got := said(); got != want {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// A panic in a goroutine of ours would end the whole server.
func TestAPanicInAStreamThatWasTakenOverEndsItAlone(t *testing.T) {
	inBubble(t, func(b *bubble) {
		said := b.read(b.send(openStream))
		time.Sleep(time.Second)
		said()
		b.keys.broken.Store(true)
		b.say("boom")
		if got := said(); got != "" || b.streams() != 0 || b.hijacked() != 0 {
			t.Errorf("%q, %d streams, %d connections", got, b.streams(), b.hijacked())
		}
		if got := metric(t, b.server, "signoff_http_panics_total"); got != "1" {
			t.Errorf("%v panics", got)
		}
	})
}
