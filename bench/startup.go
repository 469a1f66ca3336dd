package main

import "context"

// startFigure is the time from the start of the process until it is ready, with an empty database. Most of it are starts of programs, since a
// server tries its sandbox before it serves, and those take seven times as long on one machine as on another. The hub tries the same sandbox. Where starts are
// quick, the schema is half of the time on Postgres, and the ratio is twice that of a machine where they are slow.
func startFigure() figure {
	return figure{
		name: "start", about: "start over an empty store; the hub tries the sandbox, too", contenders: []string{hub, postgres, sqlite},
		isolated: true, anew: true, rounds: 9,
		measure: func(_ context.Context, at place) (sample, error) { return sample{"ready": milliseconds(at.ready)}, nil },
		rows:    []row{{key: "ready", title: "start-up to ready, empty store", unit: "ms", reach: goals(5, 3), stand: goals(10, 4.5)}},
	}
}
