package http

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

func serving(t *testing.T) (*Server, *events.Log, string) {
	m := &memory{}
	log := events.NewLog(m)
	s, err := NewServer(Config{
		Log: log, Reader: m, Keys: anyone{revoked: make(chan struct{})}, Models: modelRegistry{"demo"}, Masker: secrets.NewMasker(), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	running.Go(func() { _ = s.Serve(ctx, listener) })
	t.Cleanup(func() { stop(); running.Wait() })
	return s, log, listener.Addr().String()
}

func tell(t *testing.T, log *events.Log, payload domain.Payload) {
	_, err := log.Commit(context.Background(), store.Change{Execution: someID, Events: []domain.Event{domain.NewEvent(someID, payload)}})
	must(t, err)
}

// A client that has sent its next request already still gets all of the stream, however slowly it reads.
func TestPipelinedInputDoesNotCutTheEnd(t *testing.T) {
	_, log, address := serving(t)
	connection, err := net.Dial("tcp", address)
	must(t, err)
	defer connection.Close()
	_ = connection.(*net.TCPConn).SetReadBuffer(8 << 10)
	fmt.Fprintf(connection, "GET /executions/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n", someID)
	time.Sleep(time.Second)
	fmt.Fprintf(connection, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	time.Sleep(200 * time.Millisecond)
	for range 8 {
		tell(t, log, domain.MessageDelta{MessageID: "m", Turn: 1, Text: strings.Repeat("x", 60_000)})
	}
	tell(t, log, domain.ExecutionEnded{Status: domain.StatusCompleted})
	time.Sleep(time.Second) // all is written, into the buffers of the system
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	must(t, err)
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "execution.completed") {
		t.Errorf("%d bytes of the stream arrived, its end: %v; %v", len(body), strings.Contains(string(body), "execution.completed"), err)
	}
}

// stuck are keys that cannot be read: the database does not answer.
type stuck struct {
	anyone
	now *atomic.Bool
}

func (k stuck) Check(ctx context.Context, _ string) error {
	if k.now.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// The end of the server comes when its patience is over, whatever a client has sent.
func TestTheEndDoesNotWaitForAStuckStream(t *testing.T) {
	for name, more := range map[string]string{"silent": "", "pipelining": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			log := events.NewLog(m)
			k := stuck{anyone{revoked: make(chan struct{})}, &atomic.Bool{}}
			s, err := NewServer(Config{Shutdown: time.Second,
				Log: log, Reader: m, Keys: k, Models: modelRegistry{"demo"}, Masker: secrets.NewMasker(), Logger: slog.New(slog.DiscardHandler),
			})
			must(t, err)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			logs, stopLog := context.WithCancel(context.Background())
			defer stopLog()
			go log.Run(logs)
			ctx, stop := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx, listener) }()
			connection, err := net.Dial("tcp", listener.Addr().String())
			must(t, err)
			defer connection.Close()
			fmt.Fprintf(connection, "GET /executions/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n", someID)
			time.Sleep(600 * time.Millisecond)
			fmt.Fprint(connection, more)
			time.Sleep(100 * time.Millisecond)
			k.now.Store(true)
			tell(t, log, domain.MessageDelta{MessageID: "m", Turn: 1, Text: "x"})
			time.Sleep(100 * time.Millisecond)
			stop()
			select {
			case err := <-served:
				t.Log(err)
			case <-time.After(6 * time.Second):
				t.Error("the server has not ended five seconds after its patience was over")
			}
		})
	}
}

// A connection that may be taken over serves no other request, and the client is told so at once: one that kept it for the next request would
// find it closed in the middle of a POST, which nobody sends again by himself.
func TestAStreamTellsThatItsConnectionEnds(t *testing.T) {
	_, log, address := serving(t)
	request, err := http.NewRequest(http.MethodGet, "http://"+address+"/executions/"+someID+"/events", nil)
	must(t, err)
	request.Header.Set("Authorization", "Bearer x")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	must(t, err)
	defer response.Body.Close()
	if !response.Close {
		t.Error("the client may keep the connection")
	}
	tell(t, log, domain.ExecutionEnded{Status: domain.StatusCompleted})
	_, err = io.Copy(io.Discard, response.Body)
	must(t, err)
}
