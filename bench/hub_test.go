package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func post(t *testing.T, url string, body map[string]any) *http.Response {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return request(t, http.MethodPost, url, "", bytes.NewReader(encoded))
}

func request(t *testing.T, method, url, lastEventID string, body io.Reader) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func createOn(t *testing.T, url, prompt string) (events string) {
	t.Helper()
	response := post(t, url+"/executions", map[string]any{"prompt": prompt})
	var created struct{ ID string }
	if err := json.NewDecoder(response.Body).Decode(&created); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return url + "/executions/" + created.ID + "/events"
}

// hubEvent is a frame, read back.
type hubEvent struct {
	Seq  int
	Type string
	Time time.Time
	Data struct {
		MessageID  string
		Text       string
		ApprovalID string
		ToolCallID string
		Output     string
		Message    string
	}
}

// hubStream reads the frames of one follower.
type hubStream struct {
	t     *testing.T
	lines *bufio.Reader
}

func followOn(t *testing.T, events, lastEventID string) *hubStream {
	t.Helper()
	response := request(t, http.MethodGet, events, lastEventID, nil)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(response.Status, response.Header)
	}
	return &hubStream{t: t, lines: bufio.NewReader(response.Body)}
}

// next reads a frame, and checks that its lines agree.
func (s *hubStream) next() (event hubEvent, frame string, more bool) {
	s.t.Helper()
	for !strings.HasSuffix(frame, "\n\n") {
		line, err := s.lines.ReadString('\n')
		frame += line
		if err == io.EOF && frame == "" {
			return hubEvent{}, "", false
		}
		if err != nil {
			s.t.Fatalf("%v in %q", err, frame)
		}
	}
	_, data, _ := strings.Cut(frame, "\ndata: ")
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		s.t.Fatalf("%v in %q", err, frame)
	}
	if want := "id: " + strconv.Itoa(event.Seq) + "\nevent: " + event.Type + "\ndata: "; !strings.HasPrefix(frame, want) {
		s.t.Fatalf("%q does not begin with %q", frame, want)
	}
	return event, frame, true
}

func (s *hubStream) rest() (events []hubEvent, text string) {
	s.t.Helper()
	for {
		event, frame, more := s.next()
		if !more {
			return events, text
		}
		events, text = append(events, event), text+frame
	}
}

func (s *hubStream) await(kind string) hubEvent {
	s.t.Helper()
	for {
		event, _, more := s.next()
		if !more {
			s.t.Fatalf("the stream ends without %s", kind)
		}
		if event.Type == kind {
			return event
		}
	}
}

func TestTheHubTellsAllThatTheModelSays(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	const chunks = 1000
	events, _ := followOn(t, createOn(t, url, "bench bytes=32 alternate chunks="+strconv.Itoa(chunks)), "").rest()
	if len(events) != chunks+2 {
		t.Fatalf("%d events", len(events))
	}
	texts := map[string]bool{}
	for i, event := range events {
		want := "message.delta"
		switch {
		case i == 0:
			want = "execution.created"
		case i == chunks+1:
			want = "execution.completed"
		case i%2 == 0:
			want = "thought.delta"
		}
		if event.Seq != i+1 || event.Type != want || event.Time.IsZero() {
			t.Fatalf("event %d is no %s: %+v", i+1, want, event)
		}
		if !strings.HasSuffix(want, ".delta") {
			continue
		}
		if len(event.Data.Text) != 32 {
			t.Fatalf("%+v is no chunk", event)
		}
		texts[event.Data.MessageID] = true
	}
	if len(texts) != 2 {
		t.Errorf("the text and the thought are %d messages", len(texts))
	}
}

func TestFollowersOfTheHubSeeTheSameBytes(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	events := createOn(t, url, "bench chunks=50 rate=500")
	first, second := followOn(t, events, ""), followOn(t, events, "")
	_, seen := first.rest()
	_, also := second.rest()
	_, again := followOn(t, events, "").rest()
	if seen != also || seen != again || strings.Count(seen, "\n\n") != 52 {
		t.Errorf("%d, %d and %d bytes", len(seen), len(also), len(again))
	}
	_, resumed := followOn(t, events, "30").rest()
	if !strings.HasPrefix(resumed, "id: 31\n") || !strings.HasSuffix(seen, resumed) {
		t.Errorf("behind 30 comes %.200q", resumed)
	}
	for _, end := range []string{"52", "1000"} {
		if _, more := followOn(t, events, end).rest(); more != "" {
			t.Errorf("behind %s, which is the end, comes %q", end, more)
		}
	}
}

func TestADecisionStartsTheCommand(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	stream := followOn(t, createOn(t, url, "bench chunks=2 call"), "")
	asked := stream.await("approval.requested")
	before := time.Now().UnixNano()
	approval := url + "/approvals/" + asked.Data.ApprovalID
	if refused := post(t, approval, map[string]any{"decision": "perhaps"}); refused.StatusCode != http.StatusBadRequest {
		t.Error(refused.Status)
	}
	if decided := post(t, approval, map[string]any{"decision": "approve"}); decided.StatusCode != http.StatusOK {
		t.Fatal(decided.Status)
	}
	ran := stream.await("toolCall.completed")
	started, err := strconv.ParseInt(ran.Data.Output, 10, 64)
	if err != nil || started < before || started > time.Now().UnixNano() || ran.Data.ToolCallID != asked.Data.ToolCallID {
		t.Errorf("%+v is not what the command printed, %v", ran, err)
	}
	events, _ := stream.rest()
	kinds := slices.Collect(func(yield func(string) bool) {
		for _, event := range events {
			if !yield(event.Type) {
				return
			}
		}
	})
	if diff := cmp.Diff([]string{"message.delta", "message.delta", "execution.completed"}, kinds); diff != "" {
		t.Error(diff)
	}
	if again := post(t, approval, map[string]any{"decision": "approve"}); again.StatusCode != http.StatusNotFound {
		t.Error("a second decision:", again.Status)
	}
}

// TestTheHubEndsWhatWaits: the test ends only when serveHub has returned, and neither a person nor a follower is there to let
// the execution go on.
func TestTheHubEndsWhatWaits(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	stream := followOn(t, createOn(t, url, "bench call"), "")
	stream.await("approval.requested")
}

func TestTheHubTellsThatTheModelFailed(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	events, _ := followOn(t, createOn(t, url, "bench quickly"), "").rest()
	last := events[len(events)-1]
	if last.Type != "execution.failed" || !strings.Contains(last.Data.Message, `no word`) {
		t.Errorf("%+v", last)
	}
}

// TestTheHubKeepsItsConnections: a floor that dials for every answer would flatter whatever stands beside it.
func TestTheHubKeepsItsConnections(t *testing.T) {
	var dialled atomic.Int64
	model := httptest.NewUnstartedServer(modelRoutes())
	model.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dialled.Add(1)
		}
	}
	model.Start()
	defer model.Close()
	url := startPart(t, func(ctx context.Context, stdout io.Writer) error { return bareHub(ctx, stdout, model.URL) })
	for range 5 {
		followOn(t, createOn(t, url, "bench chunks=8"), "").await("execution.completed")
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections for five answers", n)
	}
}

// TestTheHubReadsToTheEnd: a stream that is closed before its end takes its connection along.
func TestTheHubReadsToTheEnd(t *testing.T) {
	stream := strings.NewReader("data: [DONE]\n\n" + strings.Repeat("\n", 1<<20))
	if _, err := nextData(bufio.NewReader(stream)); !errors.Is(err, io.EOF) || stream.Len() > 0 {
		t.Errorf("%v, and %d bytes are left", err, stream.Len())
	}
}

func TestTheHubRefusesABrokenStream(t *testing.T) {
	for stream, want := range map[string]error{
		"":                                    io.ErrUnexpectedEOF,
		"data: {}\n\n":                        io.ErrUnexpectedEOF,
		"data: {}\n\ndata: [DONE]":            io.ErrUnexpectedEOF,
		": hm\ndata: {}\n\ndata: [DONE]\n\n":  io.EOF,
		"data: " + strings.Repeat("x", 1<<20): bufio.ErrBufferFull,
	} {
		lines, err := bufio.NewReaderSize(strings.NewReader(stream), 32<<10), error(nil)
		for err == nil {
			_, err = nextData(lines)
		}
		if !errors.Is(err, want) {
			t.Errorf("%.60q ends with %v, not %v", stream, err, want)
		}
	}
}

func TestTheHubRefuses(t *testing.T) {
	url, _ := startFloor(t, bareHub)
	events := createOn(t, url, "bench")
	for name, test := range map[string]struct {
		response *http.Response
		want     int
	}{
		"no JSON":                 {request(t, http.MethodPost, url+"/executions", "", strings.NewReader("{")), 400},
		"no execution":            {request(t, http.MethodGet, url+"/executions/x/events", "", nil), 404},
		"no event":                {request(t, http.MethodGet, events, "x", nil), 400},
		"a negative event":        {request(t, http.MethodGet, events, "-1", nil), 400},
		"no approval":             {post(t, url+"/approvals/x", map[string]any{"decision": "approve"}), 404},
		"a decision that is none": {request(t, http.MethodPost, url+"/approvals/x", "", strings.NewReader("{")), 400},
	} {
		if test.response.StatusCode != test.want {
			t.Errorf("%s: %s", name, test.response.Status)
		}
	}
}

func bareHub(ctx context.Context, stdout io.Writer, modelURL string) error {
	return serveHub(ctx, stdout, modelURL, false)
}
