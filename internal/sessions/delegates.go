package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// A child is an execution of its own, with its own session, log and agent. Its parent reads its row (see domain.Child), which the driver
// of the child writes when the child rests. That write wakes the parent in the same transaction, so a result is never lost on its way. The parent takes
// each result once: with the outcome of the call that waits for it, or as the prompt of one further turn.

// Delegates makes the requests of children.
type Delegates interface {
	// Child is the request of the child for a call of the parent, with the parent's conversation if the call asks for it. The model reads the
	// error: the call exceeds the ceiling of the parent, or names something that does not exist.
	Child(ctx context.Context, parent domain.Execution, callID string, wanted domain.DelegateArguments, earlier []domain.ContextMessage) (domain.Request, error)
}

// delegates are the children of the execution.
type delegates struct {
	core
	recorder *recorder
	calls    *openCalls
	known    map[domain.ExecutionID]domain.Child // as last read
	order    []domain.ExecutionID                // of known, by creation
	behind   bool                                // a call has begun to wait since the children were read
}

// read reads the children, if there are any.
func (d *delegates) read() error {
	if len(d.progress.Delegates) == 0 {
		d.behind = false
		return nil
	}
	ctx, cancel := d.claim.reading()
	defer cancel()
	rows, err := d.engine.store.Children(ctx, d.execution.ID)
	if err != nil {
		return err
	}
	d.known, d.order, d.behind = make(map[domain.ExecutionID]domain.Child, len(rows)), nil, false
	for _, row := range rows {
		d.known[row.Execution] = row
		d.order = append(d.order, row.Execution)
	}
	return nil
}

// child is a child as last read. A child that was created since then is live.
func (d *delegates) child(id domain.ExecutionID) domain.Child {
	child, read := d.known[id]
	if !read {
		return domain.Child{Execution: id, Status: domain.StatusQueued, Live: true}
	}
	child.Taken = d.progress.Delegates[id] // the log of the parent is the truth
	if child.Result != nil {
		child.Result = new(child.Result.Since(child.Taken))
	}
	return child
}

// anyChild tells whether the condition holds for any child.
func (d *delegates) anyChild(is func(domain.Child) bool) bool {
	for id := range d.progress.Delegates {
		if is(d.child(id)) {
			return true
		}
	}
	return false
}

func live(child domain.Child) bool { return child.Live }

// pending tells whether the execution has to wait for children when its turn has ended: some are live, or have results that were not taken.
func (d *delegates) pending() bool {
	return !d.cancelsOnEnd() && (d.anyChild(live) || d.anyChild(domain.Child.Untaken))
}

// returned tells whether all children rest, and some of them have results for a further turn.
func (d *delegates) returned() bool { return d.pending() && !d.anyChild(live) }

// cancelsOnEnd tells whether the children end with the turn that has created them.
func (d *delegates) cancelsOnEnd() bool {
	return d.execution.Request.Delegation != nil && d.execution.Request.Delegation.CancelOnEnd
}

// countLive counts the live children.
func (d *delegates) countLive() (n int) {
	for id := range d.progress.Delegates {
		if d.child(id).Live {
			n++
		}
	}
	return n
}

// ready tells whether the wait of a call is over.
func (d *delegates) ready(c *call) bool {
	if c.undelivered {
		return false
	}
	open := c.logged()
	if c.Tool == domain.CancelDelegateTool { // a child that rests ends a moment later
		return !slices.ContainsFunc(open.Children, func(id domain.ExecutionID) bool { return !d.child(id).Ended() })
	}
	if open.Mode == domain.AwaitAny && slices.ContainsFunc(open.Children, func(id domain.ExecutionID) bool { return d.child(id).Untaken() }) {
		return true
	}
	return !slices.ContainsFunc(open.Children, func(id domain.ExecutionID) bool { return d.child(id).Live })
}

// anyReady tells whether the wait of any call is over.
func (d *delegates) anyReady() bool {
	return d.calls.any(func(c *call) bool { return c.awaitsDelegate() && (c.undelivered || d.ready(c)) })
}

// applyResults ends the calls whose children rest. If our agent has not repeated a call since a restart, the call stays open until it does.
func (d *delegates) applyResults(change *changeSet) error {
	if err := d.read(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(d.calls.open)) {
		c := d.calls.open[id]
		if c == nil || c.ask == nil || !c.awaitsDelegate() {
			continue
		}
		if c.undelivered {
			if err := d.deliver(change, c); err != nil {
				return err
			}
		}
		if c.awaitsDelegate() && d.ready(c) {
			d.finishWithResults(change, c)
		}
	}
	return nil
}

// finishWithResults ends a call with the results of its children.
func (d *delegates) finishWithResults(change *changeSet, c *call) {
	var texts []string
	var failure *domain.Failure
	children := c.logged().Children
	for _, id := range children {
		child := d.child(id)
		texts = append(texts, d.resultText(change, child, c.ID))
		if child.Untaken() && child.Result.Failed() && len(children) == 1 && c.Tool != domain.CancelDelegateTool {
			failure = &domain.Failure{Code: domain.CodeToolFailed, Message: child.Result.Why()}
		}
	}
	d.finish(change, c, strings.Join(texts, "\n\n"), failure)
}

// resultText is the result or the status of a child for the model. It takes the result.
func (d *delegates) resultText(change *changeSet, child domain.Child, call string) string {
	name := fmt.Sprintf("%s (%s)", child.Name, child.Execution)
	switch {
	case child.Untaken():
		d.takeResult(change, child, call)
		return child.Result.Quote(name)
	case child.Live:
		return fmt.Sprintf("%s is still at work.", name)
	default:
		return fmt.Sprintf("%s is %s, and has no new result: you have read it, or another call returns it.", name, child.Status)
	}
}

// takeResult records that a result has reached the conversation of the parent.
func (d *delegates) takeResult(change *changeSet, child domain.Child, call string) {
	change.emit(domain.DelegateReturned{
		ExecutionID: child.Execution, Rest: child.Rests, ToolCallID: call, Status: child.Result.Status, Error: child.Result.Error,
	})
	if change.taken == nil {
		change.taken = map[domain.ExecutionID]int{}
	}
	change.taken[child.Execution] = child.Rests
}

// finish gives a call its outcome.
func (d *delegates) finish(change *changeSet, c *call, text string, failure *domain.Failure) {
	done := domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded, Output: text, Error: failure}
	if failure != nil {
		done.Outcome = domain.OutcomeFailed
	}
	note := c.note()
	d.calls.endOutput(change, c)
	change.advanced = true
	change.complete(c, done)
	d.calls.forget(c)
	change.reply(c, reply{grant: domain.Grant{Message: note + text}})
	d.calls.deriveStatus(change)
}

// startTurn makes a prompt of the results that were not taken.
func (d *delegates) startTurn(change *changeSet, started *domain.TurnStarted) {
	texts := []string{"The agents to which you have delegated have ended their turns. These are their results."}
	for _, id := range d.order {
		if child := d.child(id); child.Untaken() {
			texts = append(texts, d.resultText(change, child, ""))
			started.Delegates = append(started.Delegates, id)
		}
	}
	started.Text = strings.Join(texts, "\n\n")
}
