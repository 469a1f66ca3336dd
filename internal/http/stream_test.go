package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/contract"
	"signoff/internal/http/stream"
	"signoff/internal/keys"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

func TestAStreamResumedTwentyTimesIsTheSameBytes(t *testing.T) {
	h := newTestServer(t)
	id := h.create("many 300")
	h.ended(id)
	var whole strings.Builder
	for _, frame := range h.follow(id).all() {
		if frame.id != "" {
			whole.WriteString(frame.raw)
		}
	}
	var pieces strings.Builder
	last, disconnects := "", 0
	for {
		path := "/executions/" + id + "/events"
		if last != "" && disconnects%2 == 0 {
			path += "?after=" + last
		}
		stream := h.followURL(path, "Last-Event-ID", last)
		for range 1 + rand.IntN(30) {
			frame, err := stream.parser.next()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			if frame.id != "" {
				pieces.WriteString(frame.raw)
				last = frame.id
			}
			if strings.HasPrefix(frame.event, "execution.completed") {
				stream.close()
				if pieces.String() != whole.String() {
					t.Errorf("%d bytes in pieces, %d as a whole", pieces.Len(), whole.Len())
				}
				if disconnects < 20 {
					t.Errorf("only %d disconnects", disconnects)
				}
				h.ask("GET", "/executions/"+id+"/events", "", "Last-Event-ID", last).want(204)
				return
			}
		}
		stream.close()
		disconnects++
	}
}

func TestALiveStreamHasNoSeam(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	stream := h.follow(id)
	var seen []frame
	for len(seen) == 0 || seen[len(seen)-1].event != "stream.synced" {
		seen = append(seen, stream.next())
	}
	if first := seen[0]; first.id != "1" || first.event != "execution.created" {
		t.Errorf("first %q", first.raw)
	}
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).want(200)
	seen = append(seen, stream.all()...)
	seq := 0
	for _, frame := range seen {
		if frame.id == "" {
			continue
		}
		if seq++; frame.id != fmt.Sprint(seq) {
			t.Errorf("seq %s where %d was due", frame.id, seq)
		}
	}
	if last := seen[len(seen)-1]; last.event != "execution.completed" {
		t.Errorf("last %q", last.raw)
	}
	if all := h.follow(id).all(); strings.Contains(fmt.Sprint(all), "stream.synced") {
		t.Error("a mark between past and present in a log that has no present")
	}
}

func TestTheHeaderCountsWhereBothCursorsAreSent(t *testing.T) {
	h := newTestServer(t)
	id := h.create("say x")
	h.ended(id)
	frames := h.followURL("/executions/"+id+"/events?after=1", "Last-Event-ID", "3").all()
	if frames[0].retry == "" || frames[1].id != "4" {
		t.Errorf("%v", frames[:2])
	}
}

func TestAPageHasTheBytesOfTheStream(t *testing.T) {
	h := newTestServer(t)
	id := h.create("many 250")
	h.ended(id)
	var streamed, paged []string
	for _, frame := range h.follow(id).all() {
		if frame.id != "" {
			streamed = append(streamed, frame.data)
		}
	}
	for path, pages := "/executions/"+id+"/events?limit=100", 0; ; pages++ {
		a := h.ask("GET", path, "", "Accept", typeJSON).want(200)
		items, _, _ := strings.Cut(strings.TrimPrefix(string(a.body), `{"items":[`), `],"nextCursor":`)
		paged = append(paged, strings.Split(items, `,{"seq":`)...)
		if a.get("nextCursor") == nil {
			break
		}
		path = "/executions/" + id + "/events?limit=100&after=" + a.text("nextCursor")
	}
	for i := range paged {
		paged[i] = `{"seq":` + strings.TrimPrefix(paged[i], `{"seq":`)
	}
	if strings.Join(paged, "\n") != strings.Join(streamed, "\n") {
		t.Errorf("%d events on pages, %d on the stream", len(paged), len(streamed))
	}
	end := h.ask("GET", fmt.Sprintf("/executions/%s/events?after=%d", id, len(streamed)), "", "Accept", typeJSON).want(200)
	if end.count("items") != 0 || end.get("nextCursor") != nil {
		t.Errorf("%s", end.body)
	}
}

func TestNegotiation(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                    typeStream,
		"*/*":                                 typeStream,
		"text/event-stream":                   typeStream,
		"text/*":                              typeStream,
		"text/event-stream, */*":              typeStream,
		"application/json":                    typeJSON,
		"application/*":                       typeJSON,
		"application/json, */*;q=0.1":         typeJSON,
		"application/json;q=0.5, */*":         typeStream,
		"application/json, text/event-stream": typeStream,
		"text/html":                           "",
		"application/json;q=0":                "",
		"garbage":                             "",
		"application/json;q=0, */*":           typeStream,
		"text/*;q=0, */*":                     typeJSON,
		"text/event-stream;q=0.1, text/*":     typeStream,
		"text/event-stream;q=0, text/*":       "",
		"application/json;q=-1":               "",
		"application/json;q=2":                "",
		"application/json;q=NaN":              "",
		"application/json;q=x":                "",
	} {
		var values []string
		if accept != "" {
			values = []string{accept}
		}
		if got := negotiate(values, typeStream, typeJSON); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

// metric scrapes one value.
func metric(t testing.TB, s *Server, name string) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	must(t, exposition{t.Context(), s.metrics}.respond(recorder))
	for line := range strings.Lines(recorder.Body.String()) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (h *testServer) streams() int {
	open, _ := h.server.streams.Count()
	return open
}

func TestStreamsAreCounted(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.MaxStreams = 1 })
	id := h.create("hang")
	stream := h.follow(id)
	stream.next()
	if got := metric(t, h.server, "signoff_http_streams"); got != "1" {
		t.Errorf("%v streams", got)
	}
	h.ask("GET", "/executions/"+id+"/events", "").problem(503, domain.CodeUnavailable)
	h.ask("GET", "/executions/"+id+"/events", "", "Accept", typeJSON).want(200)
	stream.close()
	eventually(t, "the place is free", func() bool { return h.streams() == 0 })
	h.follow(id).close()
	eventually(t, "the place is free again", func() bool { return h.streams() == 0 })
	h.ask("GET", "/executions/"+id+"/events?after=999", "").problem(409, domain.CodeCursorBeyondHead)
	eventually(t, "no place is lost", func() bool { return h.streams() == 0 })
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
}

func TestDrain(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(ctx, listener) }()
	h.url = "http://" + listener.Addr().String()

	stream := h.follow(id)
	polled := make(chan answer, 1)
	go func() { polled <- h.ask("GET", "/executions/"+id+"?wait=60", "") }()
	for stream.next().event != "stream.synced" {
	}
	time.Sleep(50 * time.Millisecond) // the long poll arrives
	h.server.Drain()
	h.server.Drain()
	frames := stream.all()
	if len(frames) < 2 || frames[len(frames)-2].retry == "" || !strings.Contains(frames[len(frames)-1].comment, "reconnect") {
		t.Errorf("the stream ends with %v", frames)
	}
	if a := <-polled; a.want(200).get("endedAt") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("GET", "/readyz", "").problem(503, domain.CodeUnavailable)
	h.ask("GET", "/healthz", "").want(200)
	if frames := h.follow(id).all(); len(frames) != 3 || frames[1].retry == "" {
		t.Errorf("a new stream says %v", frames)
	}
	if a := h.ask("POST", "/executions/"+id+"/cancel", ""); a.status != 202 && a.status != 200 { // 200 where it has ended by then
		t.Errorf("a cancel is answered %d: %s", a.status, a.body)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := client.Do(h.request("GET", "/healthz", "")); err == nil {
		t.Error("it still answers")
	}
}

// ——— with fake time: a server on pipes, over a log in memory ———

// memory is the store of one log.
type memory struct {
	Reader
	mu     sync.Mutex
	events []domain.Event
	whole  int // how often a whole execution was read
	pages  int // how often events were
}

func (m *memory) Commit(_ context.Context, changes []store.Change) ([]store.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcomes := make([]store.Result, len(changes))
	for i, change := range changes {
		for _, event := range change.Events {
			event.Seq = int64(len(m.events) + 1)
			m.events = append(m.events, event)
		}
		outcomes[i].LastSeq = int64(len(m.events))
	}
	return outcomes, nil
}

func (m *memory) EventPage(_ context.Context, _ domain.ExecutionID, after int64, limit, _ int) ([]domain.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages++
	left := m.events[after:]
	return left[:min(limit, len(left))], nil
}

func (m *memory) Head(context.Context, domain.ExecutionID) (store.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.Head{Execution: someID, LastSeq: int64(len(m.events))}, nil
}

func (m *memory) HeadOf(ctx context.Context, _ domain.TenantID, id domain.ExecutionID) (store.Head, error) {
	return m.Head(ctx, id)
}

func (m *memory) ChangedHeads(context.Context, []store.KnownHead) ([]store.ChangedHead, error) {
	return nil, errors.New("not shared")
}

func (m *memory) Shared() bool { return false }

// Notify and Listen are never asked for, since it is not shared.
func (m *memory) Notify(context.Context, []string) error                     { return nil }
func (m *memory) Listen(context.Context, func(), func(payload string)) error { return nil }

func (m *memory) Execution(context.Context, domain.TenantID, domain.ExecutionID) (domain.Execution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole++
	return domain.Execution{ID: someID, Status: domain.StatusStreaming}, nil
}

// anyone lets every token in until it is revoked.
type anyone struct {
	revoked chan struct{}
	broken  *atomic.Bool // nil: never
}

func (anyone) Verify(context.Context, string) (keys.Principal, error) {
	return keys.Principal{Actor: domain.Actor{KeyID: "k"}, Scopes: everyScope()}, nil
}

func (a anyone) Check(context.Context, string) error {
	if a.broken != nil && a.broken.Load() {
		panic("boom")
	}
	select {
	case <-a.revoked:
		return domain.Errorf(domain.CodeUnauthenticated, "Revoked.")
	default:
		return nil
	}
}

// pipes is a listener whose connections have no buffers: what is not read is not written.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.incoming:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return address("127.0.0.1:80") }

type bubble struct {
	*testing.T
	server *Server
	store  *memory
	log    *events.Log
	keys   anyone
	pipes  *pipes
}

func (b *bubble) streams() int {
	open, _ := b.server.streams.Count()
	return open
}

// taken is how many connections were taken over and are open.
func (b *bubble) hijacked() int {
	_, taken := b.server.streams.Count()
	return taken
}

// inBubble runs test with a server whose clock is faked.
func inBubble(t *testing.T, test func(b *bubble)) {
	tight() // outside, or the bubble would own what it sets up
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		b := &bubble{
			T: t, store: m, log: events.NewLog(m), keys: anyone{make(chan struct{}), new(atomic.Bool)},
			pipes: &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})},
		}
		var err error
		b.server, err = NewServer(Config{
			Log: b.log, Reader: m, Keys: b.keys, Models: modelRegistry{"demo"}, Masker: secrets.NewMasker(), Logger: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { b.log.Run(ctx) })
		running.Go(func() {
			if err := b.server.Serve(ctx, b.pipes); err != nil {
				t.Error(err)
			}
		})
		test(b)
		stop()
		running.Wait()
	})
}

func (b *bubble) say(text string) {
	b.Helper()
	_, err := b.log.Commit(b.Context(), store.Change{
		Execution: someID, Events: []domain.Event{domain.NewEvent(someID, domain.MessageDelta{MessageID: "m", Turn: 1, Text: text})},
	})
	must(b, err)
}

// send opens a connection and sends a request as it stands.
func (b *bubble) send(request string) net.Conn {
	client, server := net.Pipe()
	b.pipes.incoming <- server
	_, err := io.WriteString(client, strings.ReplaceAll(request, "\n", "\r\n"))
	must(b, err)
	return client
}

// openStream asks for a stream, oldStream for one whose bytes are not in chunks: it is never taken over.
const (
	openStream = "GET /executions/" + someID + "/events HTTP/1.1\nHost: localhost\nAuthorization: Bearer x\n\n"
	oldStream  = "GET /executions/" + someID + "/events HTTP/1.0\nHost: localhost\nAuthorization: Bearer x\n\n"
)

// read collects the frames of a stream while the test goes on, and "whole" where the answer came to its end.
func (b *bubble) read(connection net.Conn) (frames func() string) {
	var mu sync.Mutex
	var seen strings.Builder
	go func() {
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			return
		}
		defer response.Body.Close()
		parser := newParserSSE(response.Body)
		for err == nil {
			var next frame
			next, err = parser.next()
			mu.Lock()
			switch {
			case errors.Is(err, io.EOF):
				seen.WriteString("whole")
			case err == nil:
				seen.WriteString(next.event + next.comment + " ")
			}
			mu.Unlock()
		}
	}()
	return func() string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		said := strings.TrimSpace(seen.String())
		seen.Reset()
		return said
	}
}

func TestHeartbeatsComeOnlyWhenNothingElseDoes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("one")
		connection := b.send(openStream)
		said := b.read(connection)
		if got := said(); got != "message.delta stream.synced" {
			t.Errorf("at first: %q", got)
		}
		for i, step := range []struct {
			wait time.Duration
			say  bool
			want string
		}{
			{stream.HeartbeatEvery - time.Second, false, ""},
			{2 * time.Second, false, "heartbeat"},
			{stream.HeartbeatEvery - 2*time.Second, true, "message.delta"},
			{stream.HeartbeatEvery - time.Second, false, ""},
			{2 * time.Second, false, "heartbeat"},
			{3 * stream.HeartbeatEvery, false, "heartbeat heartbeat heartbeat"},
		} {
			time.Sleep(step.wait)
			if step.say {
				b.say("more")
			}
			if got := said(); got != step.want {
				t.Errorf("step %d: %q, want %q", i, got, step.want)
			}
		}
		time.Sleep(time.Hour) // no deadline for the whole
		b.say("still here")
		if got := said(); !strings.HasSuffix(got, "message.delta") {
			t.Errorf("after an hour: %.100q", got)
		}
		connection.Close()
		synctest.Wait()
	})
}

func TestAClientThatDoesNotReadIsCutAndHoldsNobodyUp(t *testing.T) {
	inBubble(t, func(b *bubble) {
		slow, fast := b.send(openStream), b.send(openStream)
		said := b.read(fast)
		for range 500 {
			b.say(strings.Repeat("x", 1000))
		}
		if got := strings.Count(said(), "message.delta"); got != 500 {
			t.Errorf("the fast client has %d of 500 events", got)
		}
		if got := b.streams(); got != 2 {
			t.Errorf("%d streams", got)
		}
		time.Sleep(stream.FrameTimeout + time.Second)
		synctest.Wait()
		if got := b.streams(); got != 1 {
			t.Errorf("%d streams after the deadline", got)
		}
		if got := metric(b, b.server, "signoff_http_streams_cut_total"); got != "1" {
			t.Errorf("%v streams were cut", got)
		}
		b.say("goes on")
		if got := said(); got != "message.delta" {
			t.Errorf("the fast client hears %q", got)
		}
		slow.Close()
		fast.Close()
		synctest.Wait()
	})
}

func TestARevokedKeyGetsNoFurtherEvent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		connection := b.send(openStream)
		said := b.read(connection)
		if got := said(); got != "stream.synced" {
			t.Errorf("%q", got)
		}
		close(b.keys.revoked)
		b.say("secret")
		if got := said(); !strings.Contains(got, "is no longer valid") || strings.Contains(got, "message.delta") {
			t.Errorf("%q", got)
		}
		connection.Close()
	})
}

func TestADeletedExecutionEndsItsStreams(t *testing.T) {
	inBubble(t, func(b *bubble) {
		connection := b.send(openStream)
		said := b.read(connection)
		said()
		b.log.Forget(someID)
		if got := said(); !strings.Contains(got, "deleted") {
			t.Errorf("%q", got)
		}
		connection.Close()
	})
}

func TestAStreamReadsNoMoreThanTheHeadOfAnExecutionThatHasJustBegun(t *testing.T) {
	inBubble(t, func(b *bubble) {
		session := b.log.Watch(someID)
		defer session.Close()
		b.say("one")
		b.say("two")
		said := b.read(b.send(openStream))
		if got := said(); got != "message.delta message.delta stream.synced" {
			t.Errorf("%q", got)
		}
		if b.store.whole != 0 || b.store.pages != 0 {
			t.Errorf("the execution was read %d times, and its events %d times", b.store.whole, b.store.pages)
		}
	})
}

func TestSlowSendersAreCut(t *testing.T) {
	for name, row := range map[string]struct {
		sent  string
		after time.Duration
		want  string
	}{
		"a head that does not end": {"GET /healthz HTTP/1.1\nHost: localhost\n", headerTimeout, ""},
		"a body that does not come": {"POST /executions HTTP/1.1\nHost: localhost\nAuthorization: Bearer x\n" +
			"Content-Type: application/json\nContent-Length: 100\n\n{", contract.BodyTimeout, "HTTP/1.1 400"},
		"the body of a request that is refused": {"POST /executions HTTP/1.1\nHost: localhost\n" +
			"Content-Type: application/json\nContent-Length: 100\n\n{", contract.BodyTimeout, "HTTP/1.1 401"},
		"the body of a route that is not there": {"POST /nowhere HTTP/1.1\nHost: localhost\n" +
			"Transfer-Encoding: chunked\n\n1\n{\n", contract.BodyTimeout, "HTTP/1.1 404"},
		"an idle connection": {"", idleTimeout, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				began := time.Now()
				connection := b.send(row.sent)
				if row.sent == "" { // idle after a first request
					connection = b.send("GET /healthz HTTP/1.1\nHost: localhost\n\n")
					response, err := http.ReadResponse(bufio.NewReader(connection), nil)
					must(t, err)
					_, err = io.Copy(io.Discard, response.Body)
					must(t, err)
				}
				answer, _ := io.ReadAll(connection)
				if took := time.Since(began); took < row.after || took > row.after+time.Second {
					t.Errorf("cut after %v", took)
				}
				if !strings.HasPrefix(string(answer), row.want) {
					t.Errorf("%s", answer)
				}
				connection.Close()
			})
		})
	}
}

func (m *memory) Neighbours(context.Context, domain.Execution, int) ([]domain.ExecutionID, error) {
	return nil, nil
}

func TestALongPollOutlivesTheBodyDeadline(t *testing.T) {
	inBubble(t, func(b *bubble) {
		began := time.Now()
		connection := b.send("GET /executions/" + someID + "?wait=60 HTTP/1.0\nHost: localhost\nAuthorization: Bearer x\n\n")
		answer, err := io.ReadAll(connection)
		must(t, err)
		if took := time.Since(began); took != maxWait*time.Second || !strings.HasPrefix(string(answer), "HTTP/1.0 200") {
			t.Errorf("after %v: %s", took, answer)
		}
		connection.Close()
	})
}
