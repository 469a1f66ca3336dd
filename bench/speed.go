package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// speedFigures are those of many executions that stream at the same time.
func speedFigures() []figure {
	all := []string{hub, postgres, sqlite}
	return []figure{
		{
			name: "full64", about: "64 executions at full speed", contenders: all, measure: streaming(64, script{chunks: 8000}, 1),
			rows: []row{
				{key: "chunksPerSecond", title: "chunks per second, full speed, 64 executions", more: true, reach: goals(0.70, 0.60)},
				{key: "cpu", title: "server CPU per 1,000 chunks, full speed, 64 executions", unit: "ms"},
				{key: "wire", title: "wire bytes over text bytes, full speed", plain: true, reach: both(2)},
			},
		},
		{
			name: "full8", about: "8 executions at full speed", contenders: all, measure: streaming(8, script{chunks: 40_000}, 1),
			rows: []row{
				{key: "chunksPerSecond", title: "chunks per second, full speed, 8 executions", more: true},
				{key: "cpu", title: "server CPU per 1,000 chunks, full speed, 8 executions", unit: "ms"},
			},
		},
		{
			name: "paced", about: "90 executions of 50 chunks a second each", contenders: all, measure: streaming(90, script{chunks: 300, rate: 50}, 1),
			rows: []row{
				{key: "cpu", title: "server CPU per 1,000 chunks, paced", unit: "ms", reach: goals(2.4, 3.8), stand: goals(3, 4.5)},
				{key: "cpuWithDatabase", title: "the same with the database's CPU", unit: "ms", reach: map[string]float64{postgres: 3.4}, stand: map[string]float64{postgres: 5}},
				{key: "p50", title: "chunk latency p50, paced", unit: "ms", reach: goals(4.0, 6.0), calm: true},
				{key: "p99", title: "chunk latency p99, paced", unit: "ms", reach: goals(4.0, 8.0), calm: true},
				{key: "wire", title: "wire bytes over text bytes, paced", plain: true, reach: both(7.6)},
			},
		},
	}
}

// streaming measures executions that run side by side, each with followers of its own.
func streaming(executions int, s script, followers int) func(context.Context, place) (sample, error) {
	return func(ctx context.Context, at place) (sample, error) {
		s := s
		s.chunks = max(100, s.chunks/at.scale)
		if err := at.warm(ctx); err != nil {
			return nil, err
		}
		m := &meter{at: at}
		if err := m.start(); err != nil {
			return nil, err
		}
		tallies, err := at.streams(ctx, executions, followers, s)
		if err != nil {
			return nil, err
		}
		return m.sample(tallies)
	}
}

// warm runs a few executions that nobody measures: connections are made, code and pages are loaded.
func (at place) warm(ctx context.Context, more ...object) error {
	_, err := at.streams(ctx, 4, 1, script{chunks: 100}, more...)
	return err
}

// streams runs executions side by side and returns the tallies of all who followed one.
func (at place) streams(ctx context.Context, executions, followers int, s script, more ...object) ([]*tally, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tallies := make([]*tally, executions*followers)
	failed := make([]error, executions)
	var running sync.WaitGroup
	for i := range executions {
		running.Go(func() {
			if s.rate > 0 {
				time.Sleep(spread / time.Duration(executions) * time.Duration(i))
			}
			failed[i] = at.execution(ctx, tallies[i*followers:(i+1)*followers], s, more...)
		})
	}
	running.Wait()
	return tallies, errors.Join(failed...)
}

// spread is the time over which executions with a pace begin: what streams is measured, and not a hundred creations in one moment.
const spread = time.Second

// execution runs one to its end, with as many followers as there are places.
func (at place) execution(ctx context.Context, into []*tally, s script, more ...object) error {
	for i := range into {
		into[i] = newTally(s)
	}
	if len(into) == 1 {
		return at.alone(ctx, into[0], more...)
	}
	id, err := at.create(ctx, s, more...)
	if err != nil {
		return err
	}
	failed := make([]error, len(into))
	var reading sync.WaitGroup
	for i := range into {
		reading.Go(func() { failed[i] = at.follow(ctx, id, into[i]) })
	}
	reading.Wait()
	return errors.Join(failed...)
}

// alone runs an execution that has one follower.
func (at place) alone(ctx context.Context, into *tally, more ...object) error {
	body, err := at.begin(ctx, into.script, more...)
	if err != nil {
		return err
	}
	defer body.Close()
	return into.read(body)
}

func (at place) follow(ctx context.Context, id string, into *tally) error {
	body, err := at.open(ctx, id)
	if err != nil {
		return err
	}
	defer body.Close()
	return into.read(body)
}

// meter holds what the contender had used when the measurement began.
type meter struct {
	at          place
	begun       time.Time
	server, all time.Duration
}

func (m *meter) start() (err error) {
	m.server, m.all, err = m.at.cpu()
	m.begun = time.Now()
	return err
}

// sample is what the contender did since then.
func (m *meter) sample(tallies []*tally) (sample, error) {
	took := time.Since(m.begun)
	server, all, err := m.at.cpu()
	if err != nil {
		return nil, err
	}
	chunks, text, bytes := 0, 0, int64(0)
	var latencies []time.Duration
	for _, t := range tallies {
		chunks, text, bytes = chunks+t.chunks(), text+t.text, bytes+t.wire
		latencies = append(latencies, t.latencies...)
	}
	thousands := float64(chunks) / 1000
	found := sample{
		"chunksPerSecond": float64(chunks) / took.Seconds(),
		"cpu":             milliseconds(server-m.server) / thousands,
		"cpuWithDatabase": milliseconds(all-m.all) / thousands,
		"wire":            float64(bytes) / float64(text),
	}
	if len(latencies) > 0 {
		found["p50"], found["p99"] = milliseconds(quantile(latencies, 0.5)), milliseconds(quantile(latencies, 0.99))
	}
	return found, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
