package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// turnFigures are those of short executions: what a beginning and an end cost.
func turnFigures() []figure {
	return []figure{
		{
			name: "turns", about: "executions of 8 chunks, 16 clients", contenders: []string{hub, postgres, sqlite}, measure: turns,
			rows: []row{
				{key: "executionsPerSecond", title: "executions per second, 8-chunk turns", more: true, reach: both(0.35), stand: goals(0.08, 0.13)},
				{key: "cpu", title: "server CPU per 1,000 executions", unit: "ms"},
			},
		},
		{
			name: "create", about: "create an execution and wait for its first chunk, one after the other", contenders: []string{hub, postgres, sqlite},
			measure: firstChunks,
			rows: []row{
				{key: "p50", title: "create → first chunk p50", unit: "ms", reach: goals(3.5, 4.0), stand: goals(14, 7.5)},
				{key: "p99", title: "create → first chunk p99", unit: "ms"},
			},
		},
	}
}

const (
	turnClients = 16
	turnTime    = 3 * time.Second
)

var shortTurn = script{chunks: 8}

// turns counts how many executions come to their ends.
func turns(ctx context.Context, at place) (sample, error) {
	if err := at.warm(ctx); err != nil {
		return nil, err
	}
	m := &meter{at: at}
	if err := m.start(); err != nil {
		return nil, err
	}
	var done atomic.Int64
	ended := m.begun.Add(turnTime / time.Duration(min(at.scale, 3)))
	failed := make([]error, turnClients)
	var running sync.WaitGroup
	for i := range turnClients {
		running.Go(func() {
			for time.Now().Before(ended) && failed[i] == nil {
				failed[i] = at.alone(ctx, newTally(shortTurn))
				done.Add(1)
			}
		})
	}
	running.Wait()
	took := time.Since(m.begun)
	server, _, err := at.cpu()
	if err := errors.Join(errors.Join(failed...), err); err != nil {
		return nil, err
	}
	return sample{
		"executionsPerSecond": float64(done.Load()) / took.Seconds(),
		"cpu":                 milliseconds(server-m.server) / float64(done.Load()) * 1000,
	}, nil
}

// firstChunks waits each time until the execution has ended, so that nothing is in the way of the next one.
func firstChunks(ctx context.Context, at place) (sample, error) {
	if err := at.warm(ctx); err != nil {
		return nil, err
	}
	var waits []time.Duration
	for range max(50, 300/at.scale) {
		begun := time.Now()
		t := newTally(shortTurn)
		if err := at.alone(ctx, t); err != nil {
			return nil, err
		}
		waits = append(waits, t.begun.Sub(begun))
	}
	return sample{"p50": milliseconds(quantile(waits, 0.5)), "p99": milliseconds(quantile(waits, 0.99))}, nil
}
