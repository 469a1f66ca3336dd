package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// searcher is a fake SearXNG. It always finds the same.
type searcher struct {
	*httptest.Server
	results []object

	mu      sync.Mutex
	queries []string
}

func newSearcher(t *testing.T, results ...object) *searcher {
	t.Helper()
	s := &searcher{results: results}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch := look("what the search engine was asked")
		_, _ = io.WriteString(watch, r.URL.String()+"\n"+r.FormValue("q")+"\n")
		_ = r.Header.Write(watch)
		s.mu.Lock()
		s.queries = append(s.queries, r.FormValue("q"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"results": s.results})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *searcher) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries
}

// searches configures the server to search there.
func (s *server) searches(engine *searcher) {
	s.t.Helper()
	s.section("webSearch", object{"provider": "searxng", "url": engine.URL})
}
