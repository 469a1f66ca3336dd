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
	"signoff/internal/http/contract"
	"signoff/internal/keys"
)

// requestInfo is the state that the layers of one request share.
type requestInfo struct {
	began     time.Time
	requestID string
	accept    []string
	chunked   bool // a response of unknown length is sent in chunks
	headOnly  bool // the client wants no body
	principal keys.Principal
	abandoned bool // the client disconnected before the response was complete
	detached  bool // a stream has hijacked the connection: the request continues without this goroutine
	response  *response
	entry     func() accessEntry // as of now
}

func (i *requestInfo) wrote() bool { return i.response != nil && i.response.status != 0 }

type infoKey struct{}

func infoOf(ctx context.Context) *requestInfo {
	if i, ok := ctx.Value(infoKey{}).(*requestInfo); ok {
		return i
	}
	return &requestInfo{}
}

// response remembers the status. Unwrap lets http.ResponseController reach the connection.
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

// observe is the outermost layer: it assigns the request id, counts and logs the request, and turns a panic into a 500. The log has the
// route's pattern, never the path, body or token.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := &requestInfo{began: time.Now(), requestID: uuid.Must(uuid.NewV7()).String(), accept: r.Header.Values("Accept"), chunked: r.ProtoMajor == 1 && r.ProtoMinor >= 1}
		i.response = &response{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, i))
		i.entry = func() accessEntry { return newAccessEntry(r, i) }
		secure(w.Header(), i.requestID)
		contract.BeginBodyDeadline(w, r)
		defer s.finish(i)
		defer s.recoverPanic(i.response, i)
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

// recoverPanic must be deferred itself.
func (s *Server) recoverPanic(w http.ResponseWriter, i *requestInfo) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
		s.panicked(i.requestID, reason)
	}
	if reason == http.ErrAbortHandler || i.wrote() { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // net/http breaks the connection off, so that the client does not take a half for the whole
	}
	writeProblem(w, newProblem(domain.Errorf(domain.CodeInternal,
		"Something went wrong inside Signoff; the server's log has the details."), i.requestID, s.masker.MaskString))
}

func (s *Server) panicked(requestID string, reason any) {
	s.metrics.panics.Inc()
	s.log.Error("panic", "requestId", requestID, "reason", reason, "stack", string(debug.Stack()))
}

func (s *Server) finish(i *requestInfo) {
	if i.detached {
		return // the stream records the request when it ends
	}
	entry := i.entry()
	switch {
	case i.abandoned:
		entry.status = statusAbandoned
	case entry.status == 0:
		entry.status = http.StatusOK
	}
	s.record(entry)
}

// statusAbandoned is nginx's status for a request that the client closed.
const statusAbandoned = 499

// accessEntry describes a request for the log and the metrics. It does not refer to the request, so a stream can keep it.
type accessEntry struct {
	began                           time.Time
	method, route, requestID, keyID string
	status                          int
	streamed                        bool
}

func newAccessEntry(r *http.Request, i *requestInfo) accessEntry {
	entry := accessEntry{
		began: i.began, method: r.Method, route: chi.RouteContext(r.Context()).RoutePattern(), requestID: i.requestID,
		keyID: i.principal.Actor.KeyID, status: i.response.status, streamed: i.response.Header().Get("Content-Type") == typeStream,
	}
	if entry.route == "" {
		entry.route = "none"
	}
	if !knownMethods[entry.method] {
		entry.method = "other" // or a client could make up labels
	}
	return entry
}

// record counts and logs a request.
func (s *Server) record(entry accessEntry) {
	took := time.Since(entry.began)
	s.metrics.requests.WithLabelValues(entry.method, entry.route, strconv.Itoa(entry.status)).Inc()
	if !entry.streamed {
		s.metrics.durations.WithLabelValues(entry.method, entry.route).Observe(took.Seconds())
	}
	level := slog.LevelInfo
	if frequent[entry.route] && entry.status < http.StatusBadRequest {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "request",
		slog.String("method", entry.method), slog.String("route", entry.route), slog.Int("status", entry.status),
		slog.Duration("took", took), slog.String("requestId", entry.requestID), slog.String("keyId", entry.keyID))
}

// frequent are the routes of probes, which come every few seconds, and of the console's files, which come by the dozen.
var frequent = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, "/console/{release}/{file}": true}

var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true, "TRACE": true, "CONNECT": true,
}

// metrics are this package's own; [Config.Collectors] adds those of other packages.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	panics    prometheus.Counter
}

func newMetrics(others []prometheus.Collector) (*metrics, error) {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "signoff_http_requests_total", Help: "Requests by method, route and status.",
		}, []string{"method", "route", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "signoff_http_request_duration_seconds", Help: "Duration of requests, without streams.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_panics_total", Help: "Requests that ended in a panic.",
		}),
	}
	all := append([]prometheus.Collector{
		m.requests, m.durations, m.panics,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}, others...)
	for _, collector := range all {
		if err := m.registry.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}
