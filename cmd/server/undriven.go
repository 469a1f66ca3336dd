package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// countEvery is the greatest age of the counts. A count reads an index of all parked executions: 20 to 50 ms for 100,000 of them.
	countEvery = 15 * time.Second
	// countTimeout ends a count, so that a scrape does not wait for a database that is down.
	countTimeout = 2 * time.Second
)

// undriven are the metrics of executions that no replica drives. The database counts them for all replicas.
type undriven struct {
	count          func(context.Context) (queued, parked int, err error)
	queued, parked *prometheus.Desc

	mu      sync.Mutex
	counted time.Time
	last    [2]int
	known   bool
}

func newUndriven(count func(context.Context) (queued, parked int, err error)) *undriven {
	return &undriven{
		count:  count,
		queued: prometheus.NewDesc("signoff_executions_queued", "Executions that wait for room, in all replicas together.", nil, nil),
		parked: prometheus.NewDesc("signoff_executions_parked", "Parked executions, in all replicas together.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *undriven) Describe(out chan<- *prometheus.Desc) { out <- u.queued; out <- u.parked }

// Collect implements prometheus.Collector. It omits counts that it cannot read: an old number would pass for a new one.
func (u *undriven) Collect(out chan<- prometheus.Metric) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.counted) >= countEvery {
		u.recount()
	}
	if !u.known {
		return
	}
	out <- prometheus.MustNewConstMetric(u.queued, prometheus.GaugeValue, float64(u.last[0]))
	out <- prometheus.MustNewConstMetric(u.parked, prometheus.GaugeValue, float64(u.last[1]))
}

func (u *undriven) recount() {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	queued, parked, err := u.count(ctx)
	if err != nil {
		slog.Warn("cannot count parked and queued executions", "error", err)
	}
	u.counted, u.known, u.last = time.Now(), err == nil, [2]int{queued, parked}
}
