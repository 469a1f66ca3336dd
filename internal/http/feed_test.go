package http

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/http/stream"
	"signoff/internal/store"
)

// Feed and FeedHead make the memory of one log that of a tenant with one execution.
func (m *memory) Feed(_ context.Context, _ domain.TenantID, after store.FeedCursor, limit, _ int) (page store.FeedPage, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.events[after.Position:]
	for _, event := range left[:min(limit, len(left))] {
		page.Events = append(page.Events, store.FeedEvent{Event: event, Cursor: store.FeedCursor{Position: event.Seq, Seq: event.Seq}})
	}
	page.More = len(left) > limit
	return page, nil
}

func (m *memory) FeedHead(context.Context, domain.TenantID) (store.FeedCursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(len(m.events))
	return store.FeedCursor{Position: n, Seq: n}, nil
}

// FeedOfTree and EndOfTree are those of a memory in which nobody delegates.
func (m *memory) FeedOfTree(ctx context.Context, tenant domain.TenantID, _ domain.ExecutionID, after store.FeedCursor, limit, bytes int) (store.FeedPage, error) {
	return m.Feed(ctx, tenant, after, limit, bytes)
}

func (m *memory) EndOfTree(context.Context, domain.ExecutionID) (store.FeedCursor, bool, error) {
	return store.FeedCursor{}, false, nil
}

// happening is what a frame of the merged stream tells of.
type happening struct {
	ExecutionID, Type string
	Seq               int64
}

// tells returns the next event of a merged stream, checked against its schema, and the frame that it came in.
func (l *listener) tells() (happening, frame) {
	l.Helper()
	for {
		frame, err := l.parser.next()
		if err != nil {
			l.Fatalf("the stream ended: %v", err)
		}
		if frame.data == "" {
			continue
		}
		var h happening
		must(l, json.Unmarshal([]byte(frame.data), &h))
		if frame.event == "stream.synced" {
			checkSchema(l, "FeedSynced", []byte(frame.data))
		} else {
			checkSchema(l, "FeedEvent", []byte(frame.data))
		}
		if h.Type != frame.event || (frame.id == "") != (h.ExecutionID == "") {
			l.Errorf("frame %s %s carries %s", frame.id, frame.event, frame.data)
		}
		return h, frame
	}
}

// history reads a merged stream up to where live begins.
func (h *testServer) history(path string, extra ...string) (all []happening, frames []frame) {
	h.Helper()
	l := h.followURL(path, extra...)
	defer l.close()
	for {
		event, frame := l.tells()
		if frame.event == "stream.synced" {
			return all, frames
		}
		all, frames = append(all, event), append(frames, frame)
	}
}

func TestTheMergedStreamHasTheEventsOfAll(t *testing.T) {
	h := newTestServer(t)
	want := map[string]string{}
	for i := range 5 {
		id := h.create(fmt.Sprintf("many %d", 10+20*i))
		h.ended(id)
		for _, frame := range h.follow(id).all() {
			if frame.id != "" {
				want[id] += frame.data + "\n"
			}
		}
	}
	got := map[string]string{}
	all, frames := h.history("/events")
	for i, event := range all {
		named := `"executionId":"` + event.ExecutionID + `","agent":{"type":"internal","name":"demo"},`
		got[event.ExecutionID] += strings.Replace(frames[i].data, named, "", 1) + "\n"
	}
	if len(got) != len(want) {
		t.Errorf("%d executions, want %d", len(got), len(want))
	}
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("of %s came\n%s\nwant\n%s", id, got[id], want[id])
		}
	}
	var pieces, whole strings.Builder
	for _, frame := range frames {
		whole.WriteString(frame.raw)
	}
	for last, breaks := "", 0; pieces.Len() < whole.Len(); breaks++ {
		path := "/events?from=now" // which does not count with a cursor: the client repeats its address
		if last == "" {
			path = "/events"
		} else if breaks%2 == 0 {
			path += "&after=" + last
		}
		stream := h.followURL(path, "Last-Event-ID", last)
		for range 1 + rand.IntN(30) {
			_, frame := stream.tells()
			if frame.id == "" {
				break
			}
			pieces.WriteString(frame.raw)
			last = frame.id
		}
		stream.close()
	}
	if pieces.String() != whole.String() {
		t.Errorf("%d bytes in pieces, %d as a whole", pieces.Len(), whole.Len())
	}
}

func TestTheMergedStreamGoesOnLive(t *testing.T) {
	h := newTestServer(t)
	old := h.create("say x")
	h.ended(old)
	stream := h.followURL("/events?from=now")
	defer stream.close()
	if event, _ := stream.tells(); event.Type != "stream.synced" {
		t.Errorf("at first %+v", event)
	}
	ids := []string{h.create("many 20"), h.create("say y"), h.create("many 7")}
	seqs := map[string]int64{}
	for ended := 0; ended < len(ids); {
		event, _ := stream.tells()
		if seqs[event.ExecutionID]++; event.Seq != seqs[event.ExecutionID] {
			t.Fatalf("%+v where %d is due", event, seqs[event.ExecutionID])
		}
		if event.Type == "execution.completed" {
			ended++
		}
	}
	if seqs[old] != 0 || len(seqs) != len(ids) {
		t.Errorf("%v", seqs)
	}
}

func TestPagesOfTheMergedStream(t *testing.T) {
	h := newTestServer(t)
	if a := h.ask("GET", "/events", "", "Accept", typeJSON).want(200); a.count("items") != 0 || a.get("cursor") != nil || a.get("nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
	for range 3 {
		h.ended(h.create("many 15"))
	}
	_, frames := h.history("/events")
	var streamed, paged []string
	for _, frame := range frames {
		streamed = append(streamed, frame.data)
	}
	last := ""
	for path := "/events?limit=10"; path != ""; {
		a := h.ask("GET", path, "", "Accept", typeJSON).want(200)
		var page struct {
			Items              []json.RawMessage
			Cursor, NextCursor string
		}
		must(t, json.Unmarshal(a.body, &page))
		for _, item := range page.Items {
			paged = append(paged, string(item))
		}
		path, last = "", page.Cursor
		if page.NextCursor != "" {
			path = "/events?limit=10&after=" + page.NextCursor
		}
	}
	if strings.Join(paged, "\n") != strings.Join(streamed, "\n") || last != frames[len(frames)-1].id {
		t.Errorf("%d events on pages, %d on the stream; the last is %s", len(paged), len(streamed), last)
	}
	for _, path := range []string{"/events?from=now", "/events?after=" + last} {
		a := h.ask("GET", path, "", "Accept", typeJSON).want(200)
		if a.count("items") != 0 || a.text("cursor") != last || a.get("nextCursor") != nil {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

func TestTheMergedStreamIsTheTenants(t *testing.T) {
	h := newTestServer(t)
	h.ended(h.create("say x"))
	_, frames := h.history("/events")
	stranger := []string{"Authorization", "Bearer " + h.key("acme", everyScope()...)}
	for _, path := range []string{"/events", "/events?from=now", "/events?after=" + frames[0].id} {
		if all, _ := h.history(path, stranger...); len(all) != 0 {
			t.Errorf("%s: a stranger sees %v", path, all)
		}
	}
	live := h.followURL("/events", stranger...)
	defer live.close()
	live.tells()
	h.ended(h.create("say y"))
	id := h.create("say z", stranger...)
	if event, _ := live.tells(); event.ExecutionID != id {
		t.Errorf("a stranger sees %+v", event)
	}
}

func TestTheMergedStreamRefuses(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.MaxStreams = 1 })
	h.ended(h.create("say x"))
	for _, path := range []string{"/events?after=7", "/events?after=MS4xLjEuMQ%3D%3D", "/events?after=Mi4xLjEuMQ"} {
		h.ask("GET", path, "").problem(400, domain.CodeMalformed)
		h.ask("GET", path, "", "Accept", typeJSON).problem(400, domain.CodeMalformed)
	}
	beyond := "/events?after=" + store.FeedCursor{Key: 1 << 60, Position: 1 << 60}.String()
	h.ask("GET", beyond, "").problem(409, domain.CodeCursorBeyondHead)
	h.ask("GET", beyond, "", "Accept", typeJSON).problem(409, domain.CodeCursorBeyondHead)
	h.ask("GET", "/events?limit=5", "").problem(422, domain.CodeInvalid)
	h.ask("GET", "/events", "", "Accept", "text/html").problem(406, domain.CodeNotAcceptable)
	eventually(t, "no place is lost", func() bool { return h.streams() == 0 })
	stream := h.followURL("/events")
	h.ask("GET", "/events", "").problem(503, domain.CodeUnavailable)
	h.ask("GET", "/events", "", "Accept", typeJSON).want(200)
	stream.close()
	eventually(t, "the place is free", func() bool { return h.streams() == 0 })
}

const openFeed = "GET /events HTTP/1.0\nHost: localhost\nAuthorization: Bearer x\n\n"

func TestTheMergedStreamStaysOpen(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("one")
		connection := b.send(openFeed)
		said := b.read(connection)
		if got := said(); got != "message.delta stream.synced" {
			t.Errorf("at first: %q", got)
		}
		time.Sleep(2*stream.HeartbeatEvery + time.Second)
		if got := said(); got != "heartbeat heartbeat" {
			t.Errorf("half a minute later: %q", got)
		}
		b.end()
		if got := said(); got != "execution.completed" {
			t.Errorf("at an end: %q", got)
		}
		close(b.keys.revoked)
		b.say("secret")
		if got := said(); !strings.Contains(got, "is no longer valid") || strings.Contains(got, "message.delta") {
			t.Errorf("without a key: %q", got)
		}
		connection.Close()
	})
}

func (b *bubble) end() {
	b.Helper()
	_, err := b.log.Commit(b.Context(), store.Change{Execution: someID, Events: []domain.Event{
		domain.NewEvent(someID, domain.ExecutionEnded{Status: domain.StatusCompleted})}})
	must(b, err)
}
