package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// decisionFigures measure the time from the approval of a command until it runs. The command prints the time itself, so the start of a process
// is in the hub's figure, too. The hub runs the command once with the same isolation, and once in a bare shell, which shows the cost of the
// isolation.
func decisionFigures() []figure {
	return []figure{
		{
			name: "decision", about: "approve a command that prints when it ran; the hub isolates it, too",
			contenders: []string{hub, postgres, sqlite}, measure: decisions, isolated: true,
			rows: []row{
				{key: "p50", title: "decision → tool start p50", unit: "ms", reach: goals(4.5, 5.0)},
				{key: "p99", title: "decision → tool start p99", unit: "ms"},
			},
		},
		{
			name: "bare", about: "the same, the hub's command without isolation", contenders: []string{hub, postgres, sqlite}, measure: decisions,
			rows: []row{{key: "p50", title: "decision → tool start p50, the hub with a bare shell", unit: "ms"}},
		},
	}
}

// asking is an execution whose model wants one command to be run.
var asking = script{chunks: 1, call: true}

func decisions(ctx context.Context, at place) (sample, error) {
	var waits []time.Duration
	for i := range 5 + max(20, 60/at.scale) {
		took, err := at.carryOut(ctx, call{script: asking})
		if err != nil {
			return nil, err
		}
		if i >= 5 {
			waits = append(waits, took.run)
		}
	}
	return sample{"p50": milliseconds(quantile(waits, 0.5)), "p99": milliseconds(quantile(waits, 0.99))}, nil
}

// event is what is read of one: the figures that read events one by one are not about speed.
type event struct {
	Type domain.EventType
	Data struct {
		ApprovalID string
		Approval   struct{ ID string }
		Output     json.RawMessage         // of a call a text, of an execution an object
		Outcome    domain.Outcome          // of a call
		Status     domain.CheckpointStatus // of a checkpoint
	}
	arrived time.Time
}

func (e event) approval() string {
	if e.Data.ApprovalID != "" {
		return e.Data.ApprovalID
	}
	return e.Data.Approval.ID
}

// failure is the error of what did not happen: its time would be believed.
func (e event) failure() error {
	switch {
	case e.Type == domain.CheckpointCreatedType && e.Data.Status != domain.CheckpointTaken:
		return fmt.Errorf("a checkpoint is %q", e.Data.Status)
	case e.Data.Outcome == domain.OutcomeFailed:
		return fmt.Errorf("a call has failed: %.300s", e.Data.Output)
	default:
		return nil
	}
}

// commandTime reads the time that the command printed.
func (e event) commandTime() (time.Time, error) {
	var output string
	if err := json.Unmarshal(e.Data.Output, &output); err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(output) {
		if nanoseconds, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			return time.Unix(0, nanoseconds), nil
		}
	}
	return time.Time{}, fmt.Errorf("the command did not print its time: %q", output)
}

// events reads a stream event by event.
type events struct{ frames harness.Frames }

func newEvents(body io.Reader) events { return events{harness.NewFrames(body)} }

// all returns the next event of each type, in whatever order they come.
func (e events) all(kinds []domain.EventType) (map[domain.EventType]event, error) {
	came := map[domain.EventType]event{}
	for wanted := slices.Clone(kinds); len(wanted) > 0; {
		next, err := e.until(wanted...)
		if err != nil {
			return nil, err
		}
		came[next.Type] = next
		wanted = slices.DeleteFunc(wanted, func(kind domain.EventType) bool { return kind == next.Type })
	}
	return came, nil
}

// until returns the next event of one of the types.
func (e events) until(kinds ...domain.EventType) (event, error) {
	last := ""
	for {
		frame, err := e.frames.Next()
		if err != nil {
			return event{}, fmt.Errorf("no %s came (%w), the last event was %.300s", kinds, err, last)
		}
		var next event
		if err := json.Unmarshal([]byte(frame.Data), &next); err != nil {
			return event{}, err
		}
		if slices.Contains(kinds, next.Type) {
			next.arrived = time.Now()
			return next, next.failure()
		}
		last = frame.Data
	}
}
