package main

import "context"

// startFigure is the time from the start of the process until it says that it is ready, with a database that is empty.
func startFigure() figure {
	return figure{
		name: "start", about: "start over an empty store", contenders: []string{postgres, sqlite}, measure: starting, anew: true, rounds: 9,
		rows: []row{{key: "ready", title: "start-up to ready, empty store", unit: "ms", plain: true, reach: goals(250, 150)}},
	}
}

func starting(_ context.Context, at place) (sample, error) {
	return sample{"ready": milliseconds(at.ready)}, nil
}
