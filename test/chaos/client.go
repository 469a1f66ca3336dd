package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object that somebody writes down.
type object = map[string]any

// wire is the connections of all clients. A server that was killed breaks them, and new ones are made.
var wire = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
	MaxIdleConnsPerHost: 256,
	IdleConnTimeout:     30 * time.Second,
}

// patience is how long a client waits for an answer before it asks another replica.
const patience = 3 * time.Second

// answer is what came back; without a status the request may or may not have arrived.
type answer struct {
	status int
	body   []byte
	err    error
}

func (a answer) into(target any) error { return json.Unmarshal(a.body, target) }

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %.600s", a.status, bytes.TrimSpace(a.body))
}

// ask sends one request to one server.
func (w *world) ask(ctx context.Context, s *server, method, path string, body any, headers ...string) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w.run.count("requests", 1)
	request, err := w.request(ctx, s, method, path, body, headers...)
	if err != nil {
		return answer{err: err}
	}
	response, err := wire.RoundTrip(request)
	if err != nil {
		w.run.count("requests without an answer", 1)
		return answer{err: err}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil { // the status is there, but the server died over the rest
		return answer{err: err}
	}
	return answer{status: response.StatusCode, body: content}
}

func (w *world) request(ctx context.Context, s *server, method, path string, body any, headers ...string) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request, nil
}

// again tells whether a request that was answered so is to be repeated, here or elsewhere: nobody answered, or the server
// cannot at the moment.
func (a answer) again() bool {
	return a.err != nil || a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests || a.status == http.StatusBadGateway
}

// insistence is how long all servers of a world may answer nothing that helps: longer than any fault and any start.
const insistence = 3 * time.Minute

// insist asks one replica after the other until one answers, or the time is up. Where nobody ever answers the run is over.
func (w *world) insist(ctx context.Context, d *dice, method, path string, body any, headers ...string) answer {
	begun := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 300*time.Millisecond) {
		a := w.ask(ctx, w.any(d), method, path, body, headers...)
		if !a.again() {
			return a
		}
		if time.Since(begun) > insistence {
			w.run.breakOff(fmt.Errorf("%s: nobody has answered %s %s for %s: %s", w.name, method, path, insistence, a))
			return a
		}
		select {
		case <-ctx.Done():
			return a
		case <-time.After(pause):
		}
	}
}

// event is an event as it came over the wire.
type event struct {
	Seq  int64           `json:"seq"`
	Type string          `json:"type"`
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data"`
	raw  string
}

func (e event) into(target any) error { return json.Unmarshal(e.Data, target) }

// silence is how long a follower waits for a byte before it goes to another replica: one that is paused breaks no connection.
const silence = 1500 * time.Millisecond

// follow reads a stream behind an event. It returns done where the server says that nothing will ever come.
func (w *world) follow(ctx context.Context, s *server, id string, after int64, take func(event)) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	request, err := w.request(ctx, s, http.MethodGet, "/executions/"+id+"/events", nil,
		"Accept", "text/event-stream", "Last-Event-ID", strconv.FormatInt(after, 10))
	if err != nil {
		return false, err
	}
	response, err := wire.RoundTrip(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return true, nil
	}
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(response.Body)
		return false, fmt.Errorf("stream of %s: %s: %s", id, response.Status, content)
	}
	return false, frames(response.Body, func() { quiet.Reset(silence) }, take)
}

// frames reads the frames of a stream up to its end. One that broke off in the middle of a frame has not delivered it.
func frames(r io.Reader, alive func(), take func(event)) error {
	lines := bufio.NewReaderSize(r, 1<<16)
	id, kind, data := "", "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil //nolint:nilerr // every stream of a server that dies ends so; what matters is what came before
		}
		alive()
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "":
			if data != "" && kind != "stream.synced" {
				e := event{raw: data}
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					return fmt.Errorf("frame %s %s: %w", id, kind, err)
				}
				if strconv.FormatInt(e.Seq, 10) != id || kind != "" && e.Type != kind { // pieces of texts have no kind beside their data
					return fmt.Errorf("frame %s %s carries %s", id, kind, data)
				}
				take(e)
			}
			id, kind, data = "", "", ""
		case name == "id":
			id = value
		case name == "event":
			kind = value
		case name == "data":
			data = value
		}
	}
}

// log reads the whole log of an execution as pages.
func (w *world) log(ctx context.Context, d *dice, id string) ([]event, error) {
	var all []event
	for after := int64(0); ; {
		a := w.insist(ctx, d, http.MethodGet, "/executions/"+id+"/events?limit=500&after="+strconv.FormatInt(after, 10), nil, "Accept", "application/json")
		var page struct {
			Items      []json.RawMessage `json:"items"`
			NextCursor *string           `json:"nextCursor"`
		}
		if a.status != http.StatusOK {
			return all, fmt.Errorf("the log of %s: %s", id, a)
		}
		if err := a.into(&page); err != nil {
			return all, err
		}
		for _, raw := range page.Items {
			e := event{raw: string(raw)}
			if err := json.Unmarshal(raw, &e); err != nil {
				return all, err
			}
			all = append(all, e)
		}
		if page.NextCursor == nil || len(page.Items) == 0 {
			return all, nil
		}
		after = all[len(all)-1].Seq
	}
}
