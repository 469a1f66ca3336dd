package main

import "context"

// startFigure is the time from the start of the process until it is ready, with an empty database.
func startFigure() figure {
	return figure{
		name: "start", about: "start over an empty store", contenders: []string{postgres, sqlite}, anew: true, rounds: 9,
		measure: func(_ context.Context, at place) (sample, error) { return sample{"ready": milliseconds(at.ready)}, nil },
		rows:    []row{{key: "ready", title: "start-up to ready, empty store", unit: "ms", plain: true, reach: goals(250, 150)}},
	}
}
