package main

import (
	"context"
	"time"

	"signoff/internal/domain"
)

// call is an execution with one call, which is approved.
type call struct {
	script

	checkpoints domain.CheckpointMode // of the tree, in which it works; empty: it works elsewhere, and there are none
	meanwhile   func() error          // what somebody does between the first checkpoint and the approval; nil: nothing
}

// timing is how long the parts of such an execution took.
type timing struct {
	first  time.Duration // from the request until the first checkpoint is there
	run    time.Duration // from the approval until the command runs, or until the file tool has ended
	record time.Duration // from the approval until there is a checkpoint of what the file tool has written
}

// carryOut creates the execution, approves its call, and waits for its end.
func (at place) carryOut(ctx context.Context, c call) (took timing, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*patience) // on a busy machine a first checkpoint takes a minute
	defer cancel()
	before, after := []domain.EventType{domain.ApprovalRequestedType}, []domain.EventType{domain.ToolCallCompletedType}
	var more object
	if c.checkpoints != "" {
		more = object{"workingDirectory": at.stage.tree.folder, "checkpoints": c.checkpoints}
	}
	if c.checkpoints == domain.CheckpointsRequired {
		before = append(before, domain.CheckpointCreatedType)
		if c.write != "" {
			after = append(after, domain.CheckpointCreatedType)
		}
	}
	begun := time.Now()
	body, err := at.begin(ctx, c.script, more)
	if err != nil {
		return took, err
	}
	defer body.Close()
	events := newEvents(body)
	asked, err := events.all(before)
	if err != nil {
		return took, err
	}
	took.first = asked[domain.CheckpointCreatedType].arrived.Sub(begun)
	if c.meanwhile != nil {
		if err := c.meanwhile(); err != nil {
			return took, err
		}
	}
	begun = time.Now()
	if err := at.decide(ctx, asked[domain.ApprovalRequestedType].approval()); err != nil {
		return took, err
	}
	came, err := events.all(after)
	if err != nil {
		return took, err
	}
	ended := came[domain.ToolCallCompletedType].arrived
	if c.call {
		if ended, err = came[domain.ToolCallCompletedType].commandTime(); err != nil {
			return took, err
		}
	}
	took.run, took.record = ended.Sub(begun), came[domain.CheckpointCreatedType].arrived.Sub(begun)
	_, err = events.until(domain.ExecutionCompletedType)
	return took, err
}
