package oauth

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// callbackPath is where a browser comes back to.
const callbackPath = "/callback"

const (
	redirectBytes = 64 << 10
	redirectTime  = 10 * time.Second
)

// receiver takes the answer of an authorization server, which a browser brings to a port of this machine. Only that machine's own programs reach it.
type receiver struct {
	listener net.Listener
	state    string
	arrived  chan url.Values // the first answer with the state
}

// receive opens the port; 0 is any. state is the secret that only the authorization server was told.
func receive(ctx context.Context, port int, state string) (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("no port for the answer of the browser: %w", err)
	}
	return &receiver{listener, state, make(chan url.Values, 1)}, nil
}

// address is where the authorization server sends the browser.
func (r *receiver) address() string { return "http://" + r.listener.Addr().String() + callbackPath }

// await returns the first answer, from the browser or from somebody who pastes the address that the browser was sent to. pasted may be nil.
func (r *receiver) await(ctx context.Context, pasted io.Reader) (url.Values, error) {
	server := http.Server{Handler: r, ReadTimeout: redirectTime, WriteTimeout: redirectTime, MaxHeaderBytes: redirectBytes}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(r.listener) }()
	typed := make(chan pastedAnswer, 1)
	if pasted != nil {
		go func() { typed <- r.readPasted(pasted) }() // it ends with the input
	}
	select {
	case answer := <-r.arrived:
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), redirectTime)
		defer cancel()
		_ = server.Shutdown(shutdown) // the browser gets its page
		return answer, nil
	case answer := <-typed:
		return answer.values, answer.err
	case err := <-served:
		return nil, err
	case <-ctx.Done():
		return nil, errors.New("nobody has signed in")
	}
}

// ServeHTTP takes the answer. A request without the state is somebody else's: it must not end the sign-in.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer := request.URL.Query()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address holds the code
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if request.Method != http.MethodGet || request.URL.Path != callbackPath || !r.isOurs(answer) {
		http.Error(w, "This is not an answer that Signoff waits for.", http.StatusNotFound)
		return
	}
	select {
	case r.arrived <- answer:
	default: // there is one already
	}
	fmt.Fprintln(w, "Signoff has the answer. The terminal says whether the sign-in has worked; you can close this page.")
}

func (r *receiver) isOurs(answer url.Values) bool {
	return subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(r.state)) == 1
}

type pastedAnswer struct {
	values url.Values
	err    error
}

// readPasted reads one line: the whole address that the browser was sent to.
func (r *receiver) readPasted(from io.Reader) pastedAnswer {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, redirectBytes)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		address, err := url.Parse(line)
		if err != nil || address.RawQuery == "" {
			return pastedAnswer{err: errors.New("what was pasted is not the address that the browser was sent to: it begins with " + r.address() + "?")}
		}
		if !r.isOurs(address.Query()) {
			return pastedAnswer{err: errors.New("what was pasted belongs to another sign-in: its state is a different one")}
		}
		return pastedAnswer{values: address.Query()}
	}
	return pastedAnswer{err: errors.New("no address was pasted")}
}
