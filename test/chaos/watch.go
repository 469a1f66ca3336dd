//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// watch asks each server of a world the same few questions again and again, while something that the servers need is broken. A
// server answers as always, or 503 with a Retry-After; it never says that the fault is its own.
type watch struct {
	w      *world
	cancel context.CancelFunc
	askers sync.WaitGroup

	mu   sync.Mutex
	well map[string]time.Time // by server and question: the last good answer to one that was asked then or later
}

// questions are the requests, each with the answer of a healthy server.
var questions = []struct {
	method, path string
	want         int
}{
	{http.MethodGet, "/readyz", http.StatusOK},
	{http.MethodGet, "/executions?limit=1", http.StatusOK},
	{http.MethodGet, "/approvals?limit=1", http.StatusOK},
	{http.MethodPost, "/executions", http.StatusCreated},
}

// watchPause is between two of the same questions to the same server.
const watchPause = 40 * time.Millisecond

// wellWithin bounds how long after the database is ready the servers are well again. It is some seconds; the report has the figure, and
// this bound ends what never gets well: where three blocks share two cores, the start of a server alone took 15 seconds.
const wellWithin = time.Minute

// watch begins to ask. It ends with close.
func (w *world) watch() *watch {
	ctx, cancel := context.WithCancel(w.run.ctx)
	watch := &watch{w: w, cancel: cancel, well: map[string]time.Time{}}
	for _, s := range w.servers {
		for i := range questions {
			watch.askers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					watch.one(ctx, s, i, n)
					rest(ctx, watchPause)
				}
			})
		}
	}
	return watch
}

func (v *watch) close() {
	v.cancel()
	v.askers.Wait()
}

// one asks one question. A creation is refused for its content by a server that is well, once it has looked its key up.
func (v *watch) one(ctx context.Context, s *server, which, n int) {
	q := questions[which]
	var body any
	key := fmt.Sprintf("watch-%s-%d", s.name, n/50) // mostly a repetition, which reads; now and then a new one, which writes
	if q.method == http.MethodPost {
		body = object{"source": object{"type": "internal"}, "prompt": "chaos " + key, "metadata": object{"key": key}}
	}
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	response, err := v.w.client(s).Send(ctx, q.method, q.path, body, "Idempotency-Key", key)
	if err != nil {
		return // whether a server may be silent is up to the block
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	v.took(s, which, asked, response, content)
}

func (v *watch) took(s *server, which int, asked time.Time, response *http.Response, content []byte) {
	q, r := questions[which], v.w.run
	r.took("answer while something is broken", time.Since(asked))
	switch response.StatusCode {
	case q.want:
		v.mu.Lock()
		v.well[s.name+strconv.Itoa(which)] = asked
		v.mu.Unlock()
	case http.StatusServiceUnavailable:
		r.count("503", 1)
		r.expect(response.Header.Get("Retry-After") != "", "%s: 503 without Retry-After to %s %s: %s", s.name, q.method, q.path, content)
	default:
		r.violate("%s: %s %s was answered %s: %s", s.name, q.method, q.path, response.Status, content)
	}
}

// heal waits until every server answers every question as one that is well. It must not take longer than promised.
func (v *watch) heal(since time.Time) {
	r := v.w.run
	if !r.await(60*time.Second, func() bool { return v.firstSick(since) == "" }) {
		r.violate("%s: %s is not well 60 s after the fault has gone", v.w.name, v.firstSick(since))
		return
	}
	took := time.Since(since)
	r.took("fault gone to well", took)
	r.expect(took <= wellWithin, "%s: the servers were well again after %s, not within %s", v.w.name, took, wellWithin)
}

// firstSick names a question that has got no good answer since then.
func (v *watch) firstSick(since time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.w.servers {
		for i, q := range questions {
			if !v.well[s.name+strconv.Itoa(i)].After(since) {
				return fmt.Sprintf("%s, %s %s,", s.name, q.method, q.path)
			}
		}
	}
	return ""
}

// make creates an execution beside the load, without insisting. It says a word and ends.
func (w *world) make(about string) answer {
	key := fmt.Sprintf("made-%d", made.Add(1))
	return w.ask(w.run.ctx, w.servers[0], http.MethodPost, "/executions",
		object{"source": object{"type": "internal"}, "prompt": "chaos " + key + " " + about, "metadata": object{"key": key}})
}

// made numbers them.
var made atomic.Int64
