package main

import (
	"context"
	"errors"
	"sync"
)

// waitingFigure is what a call costs that waits for its approval, with the goroutine that waits. Parking would let go of it.
func waitingFigure() figure {
	return figure{
		name: "waiting", about: "10,000 executions that wait for an approval", contenders: []string{hub, postgres, sqlite}, measure: waiting, anew: true, steady: true,
		rows: []row{{key: "bytes", title: "memory per waiting approval at 10,000, goroutine waiting", unit: "KB", plain: true, reach: both(24), stand: goals(34, 35)}},
	}
}

func waiting(ctx context.Context, at place) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if err := at.warm(ctx); err != nil {
		return nil, err
	}
	before, err := at.settled()
	if err != nil {
		return nil, err
	}
	n := 10_000 / at.scale
	failed := make([]error, turnClients)
	var creating sync.WaitGroup
	for client := range turnClients {
		creating.Go(func() {
			for i := client; i < n && failed[client] == nil; i += turnClients {
				_, failed[client] = at.waits(ctx)
			}
		})
	}
	creating.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	after, err := at.settled()
	return sample{"bytes": float64(after-before) / float64(n) / 1000}, err
}
