package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// neverAnswers replies when its request is given up.
func neverAnswers(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// hangsAfter streams body and then says nothing more until its request is given up.
func hangsAfter(body string) reply {
	return func(request *http.Request) (*http.Response, error) {
		response, err := answers(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, "")(request)
		response.Body = &hangingBody{ctx: request.Context(), rest: strings.NewReader(body)}
		return response, err
	}
}

type hangingBody struct {
	ctx  context.Context
	rest io.Reader
}

func (b *hangingBody) Close() error { return nil }
func (b *hangingBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if n, err := b.rest.Read(p); err != io.EOF {
		return n, err
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("dial tcp 10.1.2.3:11434: connect: connection refused")}
		}
		host := &hosttest.Host{}
		_, err := open(t, config(&vendor{replies: []reply{refused}}), execution()).Prompt(t.Context(), host, prompt("Go"))
		checkError(t, err, domain.CodeModelUnreachable, `No connection to the provider of model "test"`)
		if strings.Contains(domain.FailureOf(err).Message, "10.1.2.3") {
			t.Error("the message has the address")
		}
		waits := hosttest.Of[domain.ModelRetrying](host)
		if n := len(waits); n < 60 || n > 180 {
			t.Fatalf("%d waits in an hour", n)
		}
		for i, wait := range waits[:len(waits)-1] { // the last one is cut off
			low, high := int64(500)<<min(i, 10), int64(1500)<<min(i, 10)
			low, high = min(low, 20_000), min(high, 60_000)
			if wait.Attempt != i+1 || wait.DelayMs < low || wait.DelayMs > high || wait.Code != domain.CodeModelUnreachable {
				t.Errorf("wait %d: %+v", i, wait)
			}
		}
	})
}

func TestRealConnectionRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	c := config(&http.Transport{})
	model := c.Models["test"]
	model.BaseURL = "http://" + address
	c.Models["test"] = model
	host := &hosttest.Host{Refuse: func(told domain.Payload) error {
		if _, requested := told.(domain.ModelRequested); !requested { // one attempt is enough
			cancel()
		}
		return nil
	}}
	_, err = open(t, c, execution()).Prompt(ctx, host, prompt("Go"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	told := hosttest.Of[domain.ModelRetrying](host)
	if len(told) != 1 || told[0].Code != domain.CodeModelUnreachable || !strings.HasSuffix(told[0].Message, ": connection refused.") {
		t.Errorf("told %+v", told)
	}
}

func TestRealStreamAndTornConnection(t *testing.T) {
	var n int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		n++
		if n == 1 {
			fmt.Fprint(w, events(says("torn ")))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		for _, word := range []string{"one ", "two ", "three"} {
			fmt.Fprint(w, events(says(word)))
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, events(ends("stop"), done))
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := config(transport)
	model := c.Models["test"]
	model.BaseURL = server.URL + "/v1/"
	c.Models["test"] = model
	host := &hosttest.Host{}
	stop, err := open(t, c, execution()).Prompt(t.Context(), host, prompt("Go"))
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "text", host.Text(), "torn one two three")
	want(t, "code", hosttest.Of[domain.ModelRetrying](host)[0].Code, domain.CodeModelStreamBroken)
}
