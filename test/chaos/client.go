//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"signoff/test/harness"
)

// patience is how long a client waits for an answer before it asks another replica.
const patience = 3 * time.Second

// rollbackPatience is how long it waits for a rollback or its preview: a server answers after half a minute at most, and does nothing else than start git a dozen times.
const rollbackPatience = 40 * time.Second

// answer is the response to a request; without a status the request may or may not have arrived.
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
	limit := patience
	if strings.HasSuffix(path, "/rollback") {
		limit = rollbackPatience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w.run.count("requests", 1)
	response, err := w.client(s).Send(ctx, method, path, body, headers...)
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

// client is one of a server.
func (w *world) client(s *server) harness.Client {
	return harness.Client{Base: s.base, Token: w.token, Transport: wire}
}

// again reports whether the request should be repeated, here or elsewhere: no server answered, or it cannot serve it at the moment.
func (a answer) again() bool {
	return a.err != nil || a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests || a.status == http.StatusBadGateway
}

// insistence is how long all servers of a world may answer nothing that helps: longer than any fault and any start.
const insistence = 3 * time.Minute

// insist asks one replica after the other until one answers, or the time is up. If none answers the run is over.
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

type event = harness.Event

// silence is how long a follower waits for a byte before it goes to another replica: one that is paused breaks no connection.
const silence = 1500 * time.Millisecond

// follow reads a stream behind an event. It returns done where the server says that nothing will ever come.
func (w *world) follow(ctx context.Context, s *server, id string, after int64, take func(event)) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	response, err := w.client(s).Send(ctx, http.MethodGet, "/executions/"+id+"/events", nil,
		"Accept", "text/event-stream", "Last-Event-ID", strconv.FormatInt(after, 10))
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
	for e, err := range harness.Events(alive{response.Body, quiet}) {
		if errors.Is(err, harness.ErrFrame) {
			return false, err
		}
		if err != nil {
			break // every stream of a server that dies ends so; the events before count
		}
		take(e)
	}
	return false, nil
}

// alive is a body that extends the patience of its reader with each byte.
type alive struct {
	io.Reader
	quiet *time.Timer
}

func (a alive) Read(p []byte) (n int, err error) {
	n, err = a.Reader.Read(p)
	if n > 0 {
		a.quiet.Reset(silence)
	}
	return n, err
}

// listed reads all pages of a list.
func listed[T any](w *world, path string) (all []T, err error) {
	for cursor := ""; ; {
		a := w.insist(w.run.ctx, &w.run.dice, http.MethodGet, path+cursor, nil)
		var page harness.Page[T]
		if err := a.into(&page); a.status != http.StatusOK || err != nil {
			return all, fmt.Errorf("%s: %s", path, a)
		}
		all = append(all, page.Items...)
		if page.NextCursor == nil {
			return all, nil
		}
		cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
	}
}

// log reads the whole log of an execution as pages.
func (w *world) log(ctx context.Context, d *dice, id string) ([]event, error) {
	var all []event
	for after := int64(0); ; {
		a := w.insist(ctx, d, http.MethodGet, "/executions/"+id+"/events?limit=500&after="+strconv.FormatInt(after, 10), nil, "Accept", "application/json")
		var page harness.Page[event]
		if a.status != http.StatusOK {
			return all, fmt.Errorf("the log of %s: %s", id, a)
		}
		if err := a.into(&page); err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == nil || len(page.Items) == 0 {
			return all, nil
		}
		after = all[len(all)-1].Seq
	}
}
