package e2e

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"signoff/internal/domain"
)

// TestBellBetweenReplicas decides on one replica what the other one drives. That the bell is what brings the news, and
// not the poll behind it, is seen at the metrics of the driver.
func TestBellBetweenReplicas(t *testing.T) {
	const rounds = 20
	e := engine{url: postgres(t)}
	m := newModel(t, once("true"))
	first := up(t, e, m)
	second := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	second.Token = first.Token
	second.start()
	for _, s := range []*server{first, second} {
		s.eventually("a replica that listens", func() bool { return s.metric("signoff_notifications_listening") == 1 })
	}

	var took, back []time.Duration
	for range rounds {
		id := first.create().ID
		a := first.asked(id, 1)[0]
		started := first.toldOf(id, domain.ToolCallStartedType)
		follows := second.toldOf(id, domain.ToolCallStartedType)
		decided := time.Now()
		second.decide(a)
		took = append(took, (<-started).Sub(decided))
		back = append(back, (<-follows).Sub(decided))
		first.ended(id)
		first.sound(id)
	}
	for what, all := range map[string][]time.Duration{"driven": took, "and followed where it was decided": back} {
		slices.Sort(all)
		t.Logf("from the decision until the call has started, %s: median %s, slowest %s", what, all[rounds/2], all[rounds-1])
	}
	for name, s := range map[string]*server{"driver": first, "decider": second} {
		bell, poll := s.metric("signoff_peer_events_by_notification_total"), s.metric("signoff_peer_events_by_poll_total")
		t.Logf("%s: %d bells sent, %d heard; news by bell %d, by poll %d", name,
			s.metric("signoff_notifications_sent_total"), s.metric("signoff_notifications_received_total"), bell, poll)
		if bell < rounds/4 { // the poll may be first by chance, but not as a rule
			t.Errorf("the %s: bells have found %d times something, the poll %d times", name, bell, poll)
		}
	}
}

// toldOf follows an execution and tells when an event of a type comes.
func (s *server) toldOf(id string, kind domain.EventType) <-chan time.Time {
	s.t.Helper()
	told := make(chan time.Time, 1)
	go func() {
		defer close(told)
		ctx, cancel := context.WithTimeout(context.Background(), scenario)
		defer cancel()
		_, err := s.follow(ctx, id, 0, func(event wireEvent) bool {
			if event.Type != string(kind) {
				return true
			}
			told <- time.Now()
			return false
		})
		if err != nil {
			s.t.Error(err)
		}
	}()
	return told
}

// metric is the value of a metric without labels.
func (s *server) metric(name string) int {
	s.t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.metrics())
	if found == nil {
		s.t.Fatalf("there is no metric %s", name)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	must(s.t, err)
	return int(value)
}
