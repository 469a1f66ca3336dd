package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

// followerFigures are those of many who read the same execution.
func followerFigures() (all []figure) {
	for _, n := range []int{1, 10, 100} {
		all = append(all, figure{
			name: fmt.Sprintf("followers%d", n), about: fmt.Sprintf("%d followers of one execution of 1,000 chunks a second", n),
			contenders: []string{hub, postgres, sqlite}, measure: streaming(1, script{chunks: 2000, rate: 1000}, n),
			rows: []row{
				{key: "cpu", title: fmt.Sprintf("server CPU per 1,000 chunks delivered, followers: %d", n), unit: "ms"},
				{key: "p50", title: fmt.Sprintf("chunk latency p50, followers: %d", n), unit: "ms"},
			},
		})
	}
	for _, n := range []int{1000, 10_000} {
		idle := row{key: "bytes", title: fmt.Sprintf("memory per idle follower, %d", n), unit: "KB", plain: true}
		if n == 10_000 {
			idle.reach = goals(32, 36)
		}
		all = append(all, figure{
			name: fmt.Sprintf("idle%d", n), about: fmt.Sprintf("%d followers of an execution that waits", n), contenders: []string{hub, postgres, sqlite},
			measure: idleFollowers(n), anew: true, rows: []row{idle},
		})
	}
	return all
}

// idleFollowers opens streams without events to come.
func idleFollowers(n int) func(context.Context, place) (sample, error) {
	return func(ctx context.Context, at place) (sample, error) {
		n := n / at.scale
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := at.warm(ctx); err != nil {
			return nil, err
		}
		id, err := at.waits(ctx)
		if err != nil {
			return nil, err
		}
		before, err := at.settled()
		if err != nil {
			return nil, err
		}
		open, err := at.openMany(ctx, id, n)
		defer closeAll(open)
		if err != nil {
			return nil, err
		}
		after, err := at.settled()
		return sample{"bytes": float64(after-before) / float64(n) / 1000}, err
	}
}

// waits starts an execution and returns when it waits for a decision.
func (at place) waits(ctx context.Context) (id string, err error) {
	id, err = at.create(ctx, asking)
	if err != nil {
		return "", err
	}
	body, err := at.open(ctx, id)
	if err != nil {
		return "", err
	}
	defer body.Close()
	_, err = newEvents(body).until("approval.requested")
	return id, err
}

// openMany opens streams, a hundred at a time, and reads each up to the question.
func (at place) openMany(ctx context.Context, id string, n int) ([]io.ReadCloser, error) {
	bodies := make([]io.ReadCloser, n)
	var opening errgroup.Group
	opening.SetLimit(100)
	for i := range n {
		opening.Go(func() (err error) {
			if bodies[i], err = at.open(ctx, id); err == nil {
				_, err = newEvents(bodies[i]).until("approval.requested")
			}
			return err
		})
	}
	return bodies, opening.Wait()
}

func closeAll(bodies []io.ReadCloser) {
	for _, body := range bodies {
		if body != nil {
			_ = body.Close()
		}
	}
}

// settle is how long a process is left alone before its memory is read.
const settle = 5 * time.Second

func (at place) settled() (int64, error) {
	time.Sleep(settle)
	return memory(at.process.PID())
}
