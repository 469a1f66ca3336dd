package main

import (
	"context"
	"time"
)

// replayFigure reads the whole log of an execution that has ended. Its model spoke and thought by turns, since neighbours of one
// kind would have become one event.
func replayFigure() figure {
	return figure{
		name: "replay", about: "read a log of 10,000 events from its beginning", contenders: []string{hub, postgres, sqlite}, measure: replay,
		rows: []row{
			// The goals are of frames that said everything twice. Since they are a third shorter the hub, which reads its memory, replays 2.9 million events a
			// second and not 1.7; Signoff reads rows, and gained nothing.
			{key: "eventsPerSecond", title: "replay, events of the model per second", more: true, reach: goals(0.12, 0.10), stand: goals(0.06, 0.07)},
			{key: "cpu", title: "server CPU per 1,000 events replayed", unit: "ms"},
		},
	}
}

const replays = 5

func replay(ctx context.Context, at place) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := script{chunks: 10_000, alternate: true}
	id, err := at.create(ctx, s)
	if err != nil {
		return nil, err
	}
	for range 2 { // until it has ended, and once more to have pages and connections warm
		if err := at.follow(ctx, id, newTally(s)); err != nil {
			return nil, err
		}
	}
	m := &meter{at: at}
	if err := m.start(); err != nil {
		return nil, err
	}
	for range replays {
		if err := at.follow(ctx, id, newTally(s)); err != nil {
			return nil, err
		}
	}
	took := time.Since(m.begun)
	server, _, err := at.cpu()
	events := float64(replays * s.chunks)
	return sample{"eventsPerSecond": events / took.Seconds(), "cpu": milliseconds(server-m.server) / events * 1000}, err
}
