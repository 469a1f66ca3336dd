package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/events/eventstest"
	"signoff/internal/events/items/itemstest"
)

// received is an event as a reader of the API has it.
func received(t testing.TB, frame events.Frame) domain.Event {
	t.Helper()
	var e struct {
		Seq  int64
		Type domain.EventType
		Data json.RawMessage
	}
	if err := json.Unmarshal(frame.JSON(), &e); err != nil {
		t.Fatalf("%s: %v", frame.SSE, err)
	}
	return domain.Event{Seq: e.Seq, Type: e.Type, Data: e.Data}
}

// The model of the benchmark says 50 chunks of 21 bytes a second, and none of them is merged with another.
func TestAPacedChunkIsSmallOnTheWire(t *testing.T) {
	const chunks, before = 300, 6
	text := strings.Repeat("x", 20) + " "
	bytes := 0
	for i := range chunks {
		event := domain.NewEvent("0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11",
			domain.MessageDelta{MessageID: "m1.1.1-abcdef", Turn: 1, Offset: i * len(text), Text: text})
		event.Seq, event.Time = int64(before+i), time.Now()
		bytes += len(events.NewFrame(event).SSE)
	}
	if perChunk := float64(bytes) / chunks; perChunk > 180 {
		t.Errorf("a chunk of %d bytes of text takes %.1f bytes of the stream", len(text), perChunk)
	}
}

// Whoever reads a log from its beginning has all of it, whatever its frames leave out. Whoever comes in the middle of a text knows after a
// few pieces where it stands, and has missed nothing from there on.
func TestReadersKnowThePlaceOfEachPiece(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stored := itemstest.Random(rt, 20, 300).Log
		log := make([]domain.Event, len(stored))
		for i, event := range stored {
			log[i] = received(t, events.NewFrame(event))
		}
		after := rapid.IntRange(0, len(log)).Draw(rt, "after")
		for _, from := range []int{0, after} {
			whole, err := eventstest.Whole(log[from:])
			if err != nil {
				rt.Fatal(err)
			}
			for i, event := range whole {
				want := string(stored[from+i].Data)
				if event.Seq%32 == 0 && string(event.Data) != want {
					rt.Fatalf("event %d does not say its place: %s", event.Seq, event.Data)
				}
				if got := string(event.Data); got != want && (from == 0 || strings.Contains(got, "offset")) {
					rt.Fatalf("behind %d, event %d is %s, and stored is %s", from, event.Seq, got, want)
				}
			}
		}
	})
}

func TestFramesSayThingsOnce(t *testing.T) {
	const id = "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"
	at := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	for want, payload := range map[string]domain.Payload{
		"id: 5\nevent: message.delta\ndata: {\"seq\":5,\"type\":\"message.delta\",\"time\":\"2026-07-01T08:00:00.000000Z\",\"data\":{\"messageId\":\"m\",\"text\":\"b\"}}\n\n":                                                             domain.MessageDelta{MessageID: "m", Turn: 1, Offset: 1, Text: "b"},
		"id: 5\nevent: thought.delta\ndata: {\"seq\":5,\"type\":\"thought.delta\",\"time\":\"2026-07-01T08:00:00.000000Z\",\"data\":{\"messageId\":\"m\",\"turn\":1,\"offset\":0,\"text\":\"a\"}}\n\n":                                     domain.ThoughtDelta{MessageID: "m", Turn: 1, Text: "a"},
		"id: 5\nevent: toolCall.updated\ndata: {\"seq\":5,\"type\":\"toolCall.updated\",\"time\":\"2026-07-01T08:00:00.000000Z\",\"data\":{\"toolCallId\":\"\\\",\\\"offset\\\":1\",\"output\":\",\\\"turn\\\":7,\\\"offset\\\":7\"}}\n\n": domain.ToolCallUpdated{ToolCallID: `","offset":1`, Offset: 120, Output: `,"turn":7,"offset":7`},
		"id: 5\nevent: message.completed\ndata: {\"seq\":5,\"type\":\"message.completed\",\"time\":\"2026-07-01T08:00:00.000000Z\",\"data\":{\"messageId\":\"m\",\"turn\":1,\"length\":2}}\n\n":                                            domain.MessageCompleted{MessageID: "m", Turn: 1, Length: 2},
	} {
		event := domain.NewEvent(id, payload)
		event.Seq, event.Time = 5, at
		if got := string(events.NewFrame(event).SSE); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if _, err := eventstest.Whole([]domain.Event{
		domain.NewEvent(id, domain.MessageDelta{MessageID: "m", Text: "four"}), domain.NewEvent(id, domain.MessageDelta{MessageID: "m", Offset: 5, Text: "x"}),
	}); err == nil || !strings.Contains(fmt.Sprint(err), "ends at 4") {
		t.Errorf("a gap is %v", err)
	}
}
