package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// spoken is one data line of the model, as a client of OpenAI's reads it.
type spoken struct {
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content   *string    `json:"content"`
			Reasoning *string    `json:"reasoning_content"`
			ToolCalls []chatCall `json:"tool_calls"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

func converse(ctx context.Context, w http.ResponseWriter, conversation ...chatMessage) {
	body, _ := json.Marshal(chatRequest{Model: "bench", Stream: true, Messages: conversation})
	modelRoutes().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(body)))
}

func user(text string) chatMessage { return chatMessage{Role: "user", Content: text} }

// hear returns all that the model says, and fails the test where its end is not as it has to be.
func hear(t *testing.T, conversation ...chatMessage) (all []spoken) {
	t.Helper()
	w := httptest.NewRecorder()
	converse(t.Context(), w, conversation...)
	text, done := strings.CutSuffix(w.Body.String(), "data: [DONE]\n\n")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || !done {
		t.Fatalf("%d %s: %.2000s", w.Code, w.Header(), w.Body)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, found := strings.CutPrefix(block, "data: ")
		var one spoken
		if err := json.Unmarshal([]byte(data), &one); err != nil || !found {
			t.Fatalf("%v in %q", err, block)
		}
		if one.Object != "chat.completion.chunk" || one.Model != "bench" {
			t.Fatalf("not a chunk: %s", block)
		}
		all = append(all, one)
	}
	return all
}

// kinds sums a stream up: t for text, r for reasoning, c for a call, the finish reason, and the usage.
func kinds(all []spoken) (sum []string) {
	for _, one := range all {
		if one.Usage != nil {
			sum = append(sum, "usage "+strconv.Itoa(one.Usage.Completion))
		}
		for _, choice := range one.Choices {
			switch {
			case choice.Finish != nil:
				sum = append(sum, *choice.Finish)
			case choice.Delta.ToolCalls != nil:
				sum = append(sum, "c")
			case choice.Delta.Reasoning != nil:
				sum = append(sum, "r")
			case choice.Delta.Content != nil:
				sum = append(sum, "t")
			}
		}
	}
	return sum
}

func TestTheModelFollowsItsScript(t *testing.T) {
	called := []chatMessage{user("bench chunks=2 call"), {Role: "assistant", ToolCalls: []chatCall{{ID: "call-0"}}}, {Role: "tool", Content: "1"}}
	for name, test := range map[string]struct {
		conversation []chatMessage
		want         []string
	}{
		"text":                  {[]chatMessage{{Role: "system", Content: "x"}, user("bench chunks=3")}, []string{"t", "t", "t", "stop", "usage 3"}},
		"alternate":             {[]chatMessage{user("bench chunks=3 alternate")}, []string{"t", "r", "t", "stop", "usage 3"}},
		"call":                  {called[:1], []string{"c", "tool_calls", "usage 1"}},
		"behind the call":       {called, []string{"t", "t", "stop", "usage 2"}},
		"the last prompt":       {append(called[:3:3], user("bench")), []string{"t", "stop", "usage 1"}},
		"a call in a later one": {append(called[:3:3], user("bench call")), []string{"c", "tool_calls", "usage 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, kinds(hear(t, test.conversation...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheCallIsACommand(t *testing.T) {
	call := hear(t, user("bench call"))[0].Choices[0].Delta.ToolCalls[0]
	want := chatCall{ID: "call-0", Type: "function", Function: chatFunction{Name: "bash", Arguments: `{"command":"date +%s%N"}`}}
	if diff := cmp.Diff(want, call); diff != "" {
		t.Error(diff)
	}
}

// stamps are the send times in the texts of a stream.
func stamps(t *testing.T, all []spoken, size int) (times []time.Time) {
	t.Helper()
	for _, one := range all {
		if len(one.Choices) == 0 || one.Choices[0].Finish != nil {
			continue
		}
		text := *one.Choices[0].Delta.Content
		nanoseconds, err := strconv.ParseInt(text[1:stampBytes], 10, 64)
		if len(text) != size || text[0] != '@' || text[size-1] != ' ' || err != nil {
			t.Fatalf("%q is no stamp with letters and a blank up to %d bytes", text, size)
		}
		times = append(times, time.Unix(0, nanoseconds))
	}
	return times
}

func TestChunksSayWhenTheyWereSent(t *testing.T) {
	before := time.Now()
	times := stamps(t, hear(t, user("bench chunks=1000 bytes=33")), 33) // more than one buffer
	if len(times) != 1000 {
		t.Fatalf("%d chunks", len(times))
	}
	for _, at := range times {
		if at.Before(before.Round(0)) || at.After(time.Now().Round(0)) {
			t.Fatalf("a chunk of %s, sent between %s and now", at, before)
		}
		before = at
	}
}

// sinceStampsHaveTheirLength brings the bubble's clock, which begins in 2000, to where a time has 19 digits.
func sinceStampsHaveTheirLength() { time.Sleep(10 * 365 * 24 * time.Hour) }

func TestPacedChunksAreSentInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sinceStampsHaveTheirLength()
		begin := time.Now()
		times := stamps(t, hear(t, user("bench chunks=150 rate=300")), leastBytes)
		interval := time.Second / 300
		if first := times[0].Sub(begin); first < 0 || first > interval {
			t.Errorf("the first chunk comes after %s, which is not within an interval", first)
		}
		for i, at := range times { // a third of a millisecond a chunk would be lost if intervals were added up
			if want := times[0].Add(time.Duration(i) * time.Second / 300); at.Sub(want).Abs() > time.Nanosecond {
				t.Fatalf("chunk %d comes %s late", i, at.Sub(want))
			}
		}
	})
}

func TestAPacedAnswerEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sinceStampsHaveTheirLength()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		converse(ctx, w, user("bench chunks=1000 rate=10"))
		if sent := strings.Count(w.Body.String(), "@"); sent < 9 || sent > 10 || strings.Contains(w.Body.String(), "DONE") {
			t.Errorf("%d chunks in a second of ten a second: %.2000s", sent, w.Body)
		}
	})
}

// broken is a connection whose client has gone.
type broken struct {
	http.ResponseWriter
	writes int
}

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, http.ErrAbortHandler
}

func TestAnAnswerAtFullSpeedEndsWithItsClient(t *testing.T) {
	w := &broken{ResponseWriter: httptest.NewRecorder()}
	converse(t.Context(), w, user("bench chunks=10000"))
	if w.writes != 1 {
		t.Errorf("%d writes to a broken connection", w.writes)
	}
}

func TestTheModelRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, conversation := range map[string][]chatMessage{
		"a foreign prompt": {user("What is the time?")},
		"an unknown word":  {user("bench quickly")},
		"no prompt":        {{Role: "system", Content: "bench"}},
	} {
		w := httptest.NewRecorder()
		converse(t.Context(), w, conversation...)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"invalid_request_error"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	modelRoutes().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader("{")))
	if w.Code != http.StatusBadRequest {
		t.Errorf("no JSON: %d", w.Code)
	}
}

// BenchmarkModel tells how many chunks per second the model makes where nobody has to carry them away.
func BenchmarkModel(b *testing.B) {
	w := &nowhere{header: http.Header{}}
	a := newChatAnswer(w, script{chunks: mostChunks, bytes: leastBytes})
	for b.Loop() {
		if err := a.rush(1); err != nil {
			b.Fatal(err)
		}
	}
}

type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) Flush()                      {}
