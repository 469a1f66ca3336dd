package stream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Keys checks that a verified key is still valid. An invalid one is domain.CodeUnauthenticated.
type Keys interface {
	Check(ctx context.Context, keyID string) error
}

// Config configures a hub.
type Config struct {
	Keys     Keys
	Logger   *slog.Logger
	Max      int                                // open streams at once
	Panicked func(requestID string, reason any) // is called for a panic in a stream that has left its handler
}

// Hub holds the streams of a server.
type Hub struct {
	keys     Keys
	log      *slog.Logger
	max      int64
	panicked func(requestID string, reason any)

	open      atomic.Int64
	hijacked  connections
	draining  chan struct{} // closed by Drain
	drain     sync.Once
	sent, cut prometheus.Counter
}

// NewHub returns a hub without streams.
func NewHub(config Config) *Hub {
	return &Hub{
		keys: config.Keys, log: config.Logger, max: int64(config.Max), panicked: config.Panicked, draining: make(chan struct{}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_events_sent_total", Help: "Events sent on streams.",
		}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "signoff_http_streams_cut_total", Help: "Streams that were cut off because the client did not read.",
		}),
	}
}

// Collectors are the metrics of the streams.
func (h *Hub) Collectors() []prometheus.Collector {
	return []prometheus.Collector{h.sent, h.cut, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "signoff_http_streams", Help: "Open event streams.",
	}, func() float64 { return float64(h.open.Load()) })}
}

// Count returns the number of open streams, and how many of them have hijacked their connection.
func (h *Hub) Count() (open, hijacked int) { return int(h.open.Load()), h.hijacked.count() }

// UntilEnd waits until a follower has ended, the time is over or the hub drains. Waiting costs no query.
func (h *Hub) UntilEnd(ctx context.Context, follower Follower, limit time.Duration) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		frames, err := follower.Next(ctx)
		switch {
		case err != nil:
			return err
		case follower.Ended():
			return nil
		case len(frames) > 0:
			continue
		}
		select {
		case <-follower.Notified():
		case <-over.C:
			return nil
		case <-h.draining:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Drain ends all streams with a hint to reconnect, and all waits. Later streams end in the same way.
func (h *Hub) Drain() { h.drain.Do(func() { close(h.draining) }) }

// IsDraining reports whether Drain was called.
func (h *Hub) IsDraining() bool {
	select {
	case <-h.draining:
		return true
	default:
		return false
	}
}

// Shutdown waits for the streams with a hijacked connection, which net/http does not do. When ctx ends, it cuts the remaining ones off.
func (h *Hub) Shutdown(ctx context.Context) error { return h.hijacked.shutdown(ctx) }
