// Package itemstest writes logs for tests of items: by hand, or by chance.
package itemstest

import (
	"time"

	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
)

// Script is a log that a test writes.
type Script struct {
	Log    []domain.Event
	length map[string]int // of the texts that came in pieces
}

var morning = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Add adds events, one each second, as a session would write them.
func (s *Script) Add(payloads ...domain.Payload) *Script {
	for _, payload := range payloads {
		event := domain.NewEvent("execution", s.numbered(payload))
		event.Seq = int64(len(s.Log) + 1)
		event.Time = morning.Add(time.Duration(event.Seq) * time.Second)
		s.Log = append(s.Log, event)
	}
	return s
}

// numbered fills in what a session counts.
func (s *Script) numbered(payload domain.Payload) domain.Payload {
	next := func(key, text string) int {
		s.length[key] += len(text)
		return s.length[key] - len(text)
	}
	switch p := payload.(type) {
	case domain.MessageDelta:
		p.Offset = next("message "+p.MessageID, p.Text)
		return p
	case domain.ThoughtDelta:
		p.Offset = next("thought "+p.MessageID, p.Text)
		return p
	case domain.ToolCallUpdated:
		p.Offset = next("output "+p.ToolCallID, p.Output)
		return p
	case domain.MessageCompleted:
		p.Length = s.length["message "+p.MessageID]
		return p
	case domain.ThoughtCompleted:
		p.Length = s.length["thought "+p.MessageID]
		return p
	default:
		return payload
	}
}

// Checked returns the log. It fails where no session would have written it.
func (s *Script) Checked(t interface {
	Helper()
	Fatalf(format string, args ...any)
}) []domain.Event {
	t.Helper()
	if broken := eventstest.Broken(s.Log); len(broken) > 0 {
		t.Fatalf("the script is no log: %v", broken)
	}
	return s.Log
}

// Begun is how every log begins.
func Begun(source domain.SourceType) *Script {
	return (&Script{length: map[string]int{}}).Add(
		domain.ExecutionCreated{Status: domain.StatusQueued, Source: domain.Source{Type: source}},
		domain.StateChanged{From: domain.StatusQueued, To: domain.StatusInitializing},
		domain.AgentStarted{Source: domain.Source{Type: source}, Sandbox: "bubblewrap"},
		domain.TurnStarted{Turn: 1},
		domain.StateChanged{From: domain.StatusInitializing, To: domain.StatusWaiting},
	)
}
