package http

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"signoff/api"
	"signoff/internal/domain"
)

const pingTimeout = 2 * time.Second

// getHealth is the liveness probe. It fails only if the process does not respond at all.
func (s *Server) getHealth(context.Context, struct{}) (responder, error) {
	return okJSON(api.Health{Status: api.HealthStatusOk}), nil
}

// getReadiness reports whether this server should get traffic. Anybody may ask, so it writes nothing; the writes of sessions show whether
// the database accepts them.
func (s *Server) getReadiness(ctx context.Context, _ struct{}) (responder, error) {
	if s.notReady.Load() || s.streams.IsDraining() {
		return nil, domain.Errorf(domain.CodeUnavailable, "The server is shutting down.")
	}
	if !s.sessions.Writable() {
		return nil, domain.Errorf(domain.CodeStorage, "The database accepts no writes.")
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := s.reader.Ping(ctx); err != nil {
		return nil, domain.Errorf(domain.CodeStorage, "The database does not answer.").With(err)
	}
	return okJSON(api.Health{Status: api.HealthStatusReady}), nil
}

// getDocument serves the contract.
func (s *Server) getDocument(context.Context, struct{}) (responder, error) {
	return document{}, nil
}

type document struct{}

func (document) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, err := w.Write(api.Document)
	return err
}

func (s *Server) getMetrics(ctx context.Context, _ struct{}) (responder, error) {
	return exposition{ctx, s.metrics}, nil
}

type exposition struct {
	ctx     context.Context
	metrics *metrics
}

func (e exposition) respond(w http.ResponseWriter) error {
	// A request without headers: the classic text format, not compressed, whatever the client prefers.
	r, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return err
	}
	promhttp.HandlerFor(e.metrics.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}
