// Command mockvendor serves the mocks of the vendors on 127.0.0.1, for clients that are not ours: http://ADDRESS/DIALECT/MODEL is the vendor's base address
// for one model, whose mock remembers its conversation. It prints the address, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"time"

	"signoff/internal/llm/provider/providertest"
)

var dialects = []providertest.MockDialect{
	providertest.MockOpenAI, providertest.MockGemini, providertest.MockDeepSeek, providertest.MockKimi, providertest.MockGLM, providertest.MockMistral,
	providertest.MockGroq, providertest.MockOpenRouter, providertest.MockVLLM, providertest.MockResponses, providertest.MockMessages,
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "mockvendor:", err)
		os.Exit(1)
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	server := &http.Server{Handler: newVendors(), ReadHeaderTimeout: 10 * time.Second}
	_ = server.Serve(listener)
}

// vendors are the mocks by dialect and model. A model that nobody has asked yet gets a mock of its own.
type vendors struct {
	mu    sync.Mutex
	mocks map[string]*providertest.Mock
}

func newVendors() http.Handler {
	served := &vendors{mocks: map[string]*providertest.Mock{}}
	return &httputil.ReverseProxy{Transport: served, Rewrite: func(request *httputil.ProxyRequest) {
		request.Out.URL.Scheme, request.Out.URL.Host = "http", "mock.test"
	}}
}

// RoundTrip implements http.RoundTripper.
func (v *vendors) RoundTrip(request *http.Request) (*http.Response, error) {
	dialect, rest, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	model, _, _ := strings.Cut(rest, "/")
	mock := v.mock(dialect, model)
	if mock == nil {
		return nil, fmt.Errorf("there is no mock %q", dialect)
	}
	return mock.RoundTrip(request)
}

func (v *vendors) mock(dialect, model string) *providertest.Mock {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := dialect + "/" + model
	if v.mocks[key] == nil {
		for _, known := range dialects {
			if known.Name == dialect {
				v.mocks[key] = &providertest.Mock{Dialect: known, Model: model, Remembers: true, ByValue: true}
			}
		}
	}
	return v.mocks[key]
}
