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

// info is what the layers of one request tell each other.
type info struct {
	began     time.Time
	requestID string
	accept    []string
	chunked   bool // an answer without a length comes in chunks
	headOnly  bool // the client wants no body
	principal keys.Principal
	abandoned bool // the client went away before it was answered
	taken     bool // a stream has taken the connection over: the request goes on without this goroutine
	response  *response
	visit     func() visit // as it stands
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
		i := &info{began: time.Now(), requestID: uuid.Must(uuid.NewV7()).String(), accept: r.Header.Values("Accept"), chunked: r.ProtoMajor == 1 && r.ProtoMinor >= 1}
		i.response = &response{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, i))
		i.visit = func() visit { return visitOf(r, i) }
		secure(w.Header(), i.requestID)
		contract.BeginBodyDeadline(w, r)
		defer s.observed(i)
		defer s.recover(i.response, i)
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
func (s *Server) recover(w http.ResponseWriter, i *info) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
		s.panicked(i.requestID, reason)
	}
	if reason == http.ErrAbortHandler || i.wrote() { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // net/http breaks the connection off, so that nobody takes the half for the whole
	}
	writeProblem(w, newProblem(domain.Errorf(domain.CodeInternal,
		"Something went wrong inside Signoff; the server's log has the details."), i.requestID, s.masker.MaskString))
}

func (s *Server) panicked(requestID string, reason any) {
	s.metrics.panics.Inc()
	s.log.Error("panic", "requestId", requestID, "reason", reason, "stack", string(debug.Stack()))
}

func (s *Server) observed(i *info) {
	if i.taken {
		return // the stream tells of it when it ends
	}
	v := i.visit()
	switch {
	case i.abandoned:
		v.status = statusAbandoned
	case v.status == 0:
		v.status = http.StatusOK
	}
	s.account(v)
}

// statusAbandoned is as nginx says it: the client closed the request.
const statusAbandoned = 499

// visit is what is told of a request that is over. It holds nothing of the request, which may be gone by then.
type visit struct {
	began                           time.Time
	method, route, requestID, keyID string
	status                          int
	streamed                        bool
}

func visitOf(r *http.Request, i *info) visit {
	v := visit{
		began: i.began, method: r.Method, route: chi.RouteContext(r.Context()).RoutePattern(), requestID: i.requestID,
		keyID: i.principal.Actor.KeyID, status: i.response.status, streamed: i.response.Header().Get("Content-Type") == typeStream,
	}
	if v.route == "" {
		v.route = "none"
	}
	if !knownMethods[v.method] {
		v.method = "other" // or a client could make up labels
	}
	return v
}

// account counts and logs a request.
func (s *Server) account(v visit) {
	took := time.Since(v.began)
	s.metrics.requests.WithLabelValues(v.method, v.route, strconv.Itoa(v.status)).Inc()
	if !v.streamed {
		s.metrics.durations.WithLabelValues(v.method, v.route).Observe(took.Seconds())
	}
	level := slog.LevelInfo
	if seldomRead[v.route] && v.status < http.StatusBadRequest {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "request",
		slog.String("method", v.method), slog.String("route", v.route), slog.Int("status", v.status),
		slog.Duration("took", took), slog.String("requestId", v.requestID), slog.String("keyId", v.keyID))
}

// seldomRead are the routes of probes, which come every few seconds, and of the console's files, which come by the dozen.
var seldomRead = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, "/console/{release}/{file}": true}

var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true, "TRACE": true, "CONNECT": true,
}

// metrics are this package's own; others come by [Config.Collectors].
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
			Name: "signoff_http_request_duration_seconds", Help: "How long requests took; streams are not counted.",
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
