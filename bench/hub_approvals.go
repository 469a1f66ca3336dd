package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// hubApprovals are the open approvals by id. A decision removes its approval and closes the channel.
type hubApprovals struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

// ask opens an approval.
func (a *hubApprovals) ask() (id string, decided <-chan struct{}) {
	id, answer := rand.Text(), make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[id] = answer
	return id, answer
}

func (a *hubApprovals) decide(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Decision string `json:"decision"`
	}
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request)
	if err != nil || request.Decision != "approve" {
		http.Error(w, "the decision is approve; there is no other here", http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	a.mu.Lock()
	decided := a.open[id]
	delete(a.open, id)
	a.mu.Unlock()
	if decided == nil {
		http.NotFound(w, r)
		return
	}
	close(decided)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q,"status":"approved"}`, id)
}
