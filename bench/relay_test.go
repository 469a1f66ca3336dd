package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheRelayPassesTheStreamOn(t *testing.T) {
	const stream = "data: {\"a\": 1}\n\n: not even a chunk\r\n\x00\n\ndata: [DONE]\n\n"
	var asked bytes.Buffer
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(&asked, r.Body)
		_, _ = io.WriteString(w, stream)
	}))
	defer model.Close()
	url := startPart(t, func(ctx context.Context, stdout io.Writer) error { return serveRelay(ctx, stdout, model.URL) })
	response := post(t, url+"/executions", map[string]any{"prompt": "bench chunks=7"})
	got, err := io.ReadAll(response.Body)
	if err != nil || string(got) != stream || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q, %v", got, err)
	}
	if want := `{"role":"user","content":"bench chunks=7"}`; !strings.Contains(asked.String(), want) {
		t.Errorf("the model was asked %s", &asked)
	}
}

// TestTheRelayHoldsNothingBack: a chunk is with the client while the model still thinks about the next.
func TestTheRelayHoldsNothingBack(t *testing.T) {
	next := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-next
		panic(http.ErrAbortHandler)
	}))
	defer model.Close()
	url := startPart(t, func(ctx context.Context, stdout io.Writer) error { return serveRelay(ctx, stdout, model.URL) })
	body := post(t, url+"/executions", map[string]any{"prompt": "bench"}).Body
	first := make([]byte, 5)
	if _, err := io.ReadFull(body, first); err != nil || string(first) != "first" {
		t.Errorf("%q, %v", first, err)
	}
	close(next)
	if rest, err := io.ReadAll(body); err == nil {
		t.Errorf("a stream that was cut off looks whole: %q", rest)
	}
}

func TestTheRelayRefuses(t *testing.T) {
	url, _ := startFloor(t, serveRelay)
	if refused := post(t, url+"/executions", map[string]any{"prompt": "bench quickly"}); refused.StatusCode != http.StatusBadGateway {
		t.Error(refused.Status)
	}
	if refused := request(t, http.MethodPost, url+"/executions", "", strings.NewReader("{")); refused.StatusCode != http.StatusBadRequest {
		t.Error(refused.Status)
	}
}
