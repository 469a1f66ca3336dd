package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"signoff/internal/domain"
)

// hubServer is the reference of all figures: an honest small server that does what a service of this kind must do at least, with the
// routes and frames of the real one, and stores nothing.
//
// An execution is a goroutine that reads the model, or an external agent, and writes a log; a follower is the handler of its request, which sleeps until
// the log's bell rings; an approval is a channel that the execution waits on.
type hubServer struct {
	life    context.Context // of executions: they outlive the requests that start them
	model   modelClient
	child   child // what an approved command runs in
	running sync.WaitGroup

	mu        sync.Mutex
	logs      map[string]*hubLog
	approvals map[string]chan struct{} // open ones, by id; a decision takes its approval out and closes it
}

// serveHub serves until ctx ends. Its commands run bare, or isolated as the server's.
func serveHub(ctx context.Context, stdout io.Writer, modelURL string, isolated bool) (err error) {
	h := &hubServer{
		life: ctx, model: newModelClient(modelURL), child: bare,
		logs: map[string]*hubLog{}, approvals: map[string]chan struct{}{},
	}
	if isolated {
		var remove func() error
		if h.child, remove, err = confined(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	defer h.model.close()
	defer h.running.Wait()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /executions", h.create)
	mux.HandleFunc("GET /executions/{id}/events", h.follow)
	mux.HandleFunc("POST /approvals/{id}", h.decide)
	return listenAndServe(ctx, stdout, mux)
}

func (h *hubServer) create(w http.ResponseWriter, r *http.Request) {
	request, err := readRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log := &hubLog{execution: rand.Text()}
	log.notify(domain.ExecutionCreatedType, map[string]any{"status": "queued", "source": "internal"})
	h.mu.Lock()
	h.logs[log.execution] = log
	h.mu.Unlock()
	h.running.Go(func() { h.run(log, request) })

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/executions/"+log.execution)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%q}`, log.execution)
}

// follow writes what is new, whenever something is new, until the log has ended or the client has gone.
func (h *hubServer) follow(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	log := h.logs[r.PathValue("id")]
	h.mu.Unlock()
	if log == nil {
		http.NotFound(w, r)
		return
	}
	seq, err := lastEventID(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for out := http.NewResponseController(w); ; {
		frames, ended, bell := log.after(seq)
		if _, err := w.Write(bytes.Join(frames, nil)); err != nil {
			return
		}
		if out.Flush() != nil || ended {
			return
		}
		seq += len(frames)
		select {
		case <-bell:
		case <-r.Context().Done():
			return
		}
	}
}

func lastEventID(r *http.Request) (int, error) {
	given := r.Header.Get("Last-Event-ID")
	if given == "" {
		return 0, nil
	}
	seq, err := strconv.Atoi(given)
	if err != nil || seq < 0 {
		return 0, fmt.Errorf("%q is not the id of an event", start(given))
	}
	return seq, nil
}

func (h *hubServer) decide(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Decision string `json:"decision"`
	}
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request)
	if err != nil || request.Decision != "approve" {
		http.Error(w, "the decision is approve; there is no other here", http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	h.mu.Lock()
	decided := h.approvals[id]
	delete(h.approvals, id)
	h.mu.Unlock()
	if decided == nil {
		http.NotFound(w, r)
		return
	}
	close(decided)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q,"status":"approved"}`, id)
}

// open makes an approval.
func (h *hubServer) open() (id string, decided <-chan struct{}) {
	id, bell := rand.Text(), make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.approvals[id] = bell
	return id, bell
}
