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

// hubServer is the reference of all figures: an honest small server that does the least that a service of this kind must do, with the routes
// and frames of the real one, and stores nothing.
//
// An execution is a goroutine that reads the model, or an external agent, and writes a log; a follower is the handler of its request, which sleeps
// until the log notifies it; an approval is a channel that the execution waits on.
type hubServer struct {
	life    context.Context // of executions: they outlive the requests that start them
	turns   hubTurns
	running sync.WaitGroup

	mu   sync.Mutex
	logs map[string]*hubLog
}

// serveHub serves until ctx ends. Its commands run bare, or isolated as the server's.
func serveHub(ctx context.Context, stdout io.Writer, modelURL string, isolated bool) (err error) {
	checkpoints, err := newHubCheckpoints()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checkpoints.close()) }()
	turns := hubTurns{model: newModelClient(modelURL), child: bare, approvals: &hubApprovals{open: map[string]chan struct{}{}}, checkpoints: checkpoints}
	if isolated {
		var remove func() error
		if turns.child, remove, err = confined(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	h := &hubServer{life: ctx, turns: turns, logs: map[string]*hubLog{}}
	defer turns.model.close()
	defer h.running.Wait()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /executions", h.create)
	mux.HandleFunc("GET /executions/{id}/events", h.follow)
	mux.HandleFunc("POST /approvals/{id}", turns.approvals.decide)
	return listenAndServe(ctx, stdout, mux)
}

func (h *hubServer) create(w http.ResponseWriter, r *http.Request) {
	var request hubRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log := &hubLog{execution: rand.Text()}
	log.addPayload(domain.ExecutionCreatedType, map[string]any{"status": "queued", "source": "internal"})
	h.mu.Lock()
	h.logs[log.execution] = log
	h.mu.Unlock()
	h.running.Go(func() { h.turns.run(h.life, log, request) })

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/executions/"+log.execution)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%q}`, log.execution)
}

// follow writes new frames as they come, until the log has ended or the client has gone.
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
		frames, ended, more := log.after(seq)
		if _, err := w.Write(bytes.Join(frames, nil)); err != nil {
			return
		}
		if out.Flush() != nil || ended {
			return
		}
		seq += len(frames)
		select {
		case <-more:
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
