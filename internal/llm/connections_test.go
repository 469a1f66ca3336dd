package llm

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConnectionsAreKept: executions that ask one provider at once all find their connections again.
func TestConnectionsAreKept(t *testing.T) {
	const atOnce = 8
	var (
		made    atomic.Int64
		arrived sync.WaitGroup
	)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		arrived.Wait()
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	for range 2 {
		arrived.Add(atOnce)
		var asking sync.WaitGroup
		for range atOnce {
			asking.Go(func() { get(t, transport, server.URL) })
		}
		asking.Wait()
	}
	if made.Load() != atOnce {
		t.Errorf("%d connections were made", made.Load())
	}
}

func get(t *testing.T, transport http.RoundTripper, address string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Error(err)
		return
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	_ = response.Body.Close()
}
