package http

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// info is what the layers of one request tell each other.
type info struct {
	requestID string
	accept    []string
	principal keys.Principal
	bodyHash  []byte // of the checked body
	abandoned bool   // the client went away before it was answered
	response  *response
}

func (i *info) wrote() bool { return i.response != nil && i.response.status != 0 }

type infoKey struct{}

func infoOf(ctx context.Context) *info {
	if i, ok := ctx.Value(infoKey{}).(*info); ok {
		return i
	}
	return &info{}
}

// response remembers what was answered. Unwrap lets http.ResponseController reach the connection.
type response struct {
	http.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// observe is the outermost layer: it names the request, counts and logs it, and turns a panic into a 500. The log has
// the route's pattern, never the path, body or token.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		i := &info{requestID: uuid.Must(uuid.NewV7()).String(), accept: r.Header.Values("Accept")}
		i.response = &response{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, i))
		secure(w.Header(), i.requestID)
		beginBodyDeadline(w, r)
		defer s.observed(r, i, began)
		defer s.recover(i.response, r, i)
		next.ServeHTTP(i.response, r)
	})
}

func secure(header http.Header, requestID string) {
	header.Set("X-Request-Id", requestID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// recover must be deferred itself.
func (s *Server) recover(w http.ResponseWriter, r *http.Request, i *info) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
		s.metrics.panics.Inc()
		s.log.ErrorContext(r.Context(), "panic", "requestId", i.requestID, "reason", reason, "stack", string(debug.Stack()))
	}
	if reason == http.ErrAbortHandler || i.wrote() { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // net/http breaks the connection off, so that nobody takes the half for the whole
	}
	writeProblem(w, newProblem(domain.Errorf(domain.CodeInternal,
		"Something went wrong inside Signoff; the server's log has the details."), i.requestID, s.masker.MaskString))
}

func (s *Server) observed(r *http.Request, i *info, began time.Time) {
	status, route, took := i.response.status, chi.RouteContext(r.Context()).RoutePattern(), time.Since(began)
	switch {
	case i.abandoned:
		status = 499 // as nginx says it: the client closed the request
	case status == 0:
		status = http.StatusOK
	}
	if route == "" {
		route = "none"
	}
	method := r.Method
	if !knownMethods[method] {
		method = "other" // or a client could make up labels
	}
	s.metrics.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	if i.response.Header().Get("Content-Type") != typeStream {
		s.metrics.durations.WithLabelValues(method, route).Observe(took.Seconds())
	}
	level := slog.LevelInfo
	if probes[route] && status < http.StatusBadRequest {
		level = slog.LevelDebug // every few seconds, and nobody wants to read it
	}
	s.log.LogAttrs(r.Context(), level, "request",
		slog.String("method", method), slog.String("route", route), slog.Int("status", status),
		slog.Duration("took", took), slog.String("requestId", i.requestID), slog.String("keyId", i.principal.Actor.KeyID))
}

var probes = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true, "TRACE": true, "CONNECT": true,
}

// metrics are this package's own; others come by [Config.Collectors].
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	panics    prometheus.Counter
	streams   prometheus.Gauge
	sent      prometheus.Counter
	cut       prometheus.Counter
}

func newMetrics(others []prometheus.Collector) (*metrics, error) {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "signoff_http_requests_total", Help: "Requests by method, route and status.",
		}, []string{"method", "route", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "signoff_http_request_duration_seconds", Help: "How long requests took; streams are not counted.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_panics_total", Help: "Requests that ended in a panic.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "signoff_http_streams", Help: "Event streams that are open now.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_events_sent_total", Help: "Events sent on streams.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_streams_cut_total", Help: "Streams that ended because the client did not read.",
		}),
	}
	all := append([]prometheus.Collector{
		m.requests, m.durations, m.panics, m.streams, m.sent, m.cut,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}, others...)
	for _, collector := range all {
		if err := m.registry.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}
