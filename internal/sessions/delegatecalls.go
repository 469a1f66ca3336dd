package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// The calls by which an agent delegates. Each is judged like any other call. Its start is in the log before its effect, and names the children:
// the next driver waits for the same children.

// check refuses a call that cannot start, so that no person is asked about it.
func (d *delegates) check(c *call) error {
	if d.engine.delegates == nil || d.execution.Request.Delegation == nil {
		return domain.Errorf(domain.CodePolicyDenied, "This execution may not delegate.")
	}
	switch c.Tool {
	case domain.DelegateTool:
		_, _, err := d.childRequest(c.ID, c.Arguments)
		return err
	case domain.AwaitDelegatesTool:
		_, err := d.awaitArguments(c.Arguments)
		return err
	case domain.MessageDelegateTool:
		_, err := d.messageArguments(c.Arguments)
		return err
	case domain.CancelDelegateTool:
		_, err := d.cancelArguments(c.Arguments)
		return err
	default:
		return domain.Errorf(domain.CodeInvalidArguments, "There is no way to delegate by %s.", c.Tool)
	}
}

// start begins a call that may run. An error refuses it.
func (d *delegates) start(change *changeSet, c *call, started domain.ToolCallStarted) error {
	begin := map[string]func(*changeSet, *call, domain.ToolCallStarted) error{
		domain.DelegateTool: d.delegate, domain.AwaitDelegatesTool: d.await,
		domain.MessageDelegateTool: d.beginMessage, domain.CancelDelegateTool: d.cancel,
	}[c.Tool]
	if begin == nil {
		return d.check(c)
	}
	return begin(change, c, started)
}

// waitFor writes the start of a call that waits for children.
func (d *delegates) waitFor(change *changeSet, c *call, started domain.ToolCallStarted, mode domain.AwaitMode, ids ...domain.ExecutionID) {
	started.Awaits, started.Mode, started.Children = domain.AwaitsDelegate, mode, ids
	change.emit(started)
	c.approval = nil
	change.replies = append(change.replies, func() { d.behind = true })
}

// delegate creates a child, in the transaction that starts the call: so each start has one child, whichever server dies meanwhile.
func (d *delegates) delegate(change *changeSet, c *call, started domain.ToolCallStarted) error {
	wanted, request, err := d.childRequest(c.ID, started.Arguments)
	if err != nil {
		return err
	}
	child := d.execution.Delegated(domain.ExecutionID(approvals.NewID()), request, d.recorder.clock.now())
	if wanted.Background() {
		started.Children = []domain.ExecutionID{child.ID}
		change.emit(started)
		c.approval = nil
	} else {
		d.waitFor(change, c, started, domain.AwaitAll, child.ID)
	}
	change.emit(domain.DelegateStarted{
		ExecutionID: child.ID, ToolCallID: c.ID, Name: request.Parent.Name, Source: request.Source, Depth: request.Parent.Depth, Background: wanted.Background(),
	})
	change.linked = append(change.linked, d.creation(child))
	change.replies = append(change.replies, d.engine.dispatch.Enqueued)
	if wanted.Background() {
		d.finish(change, c, fmt.Sprintf("%s works on it, as %s. Its result reaches you by %s, or in a turn of its own when you have ended yours.",
			request.Parent.Name, child.ID, domain.AwaitDelegatesTool), nil)
	}
	return nil
}

// creation is the first change of a child. It waits in the queue, like any execution for which there is no room.
func (d *delegates) creation(child domain.Execution) store.Change {
	event := domain.NewEvent(child.ID, domain.CreatedBy(child.Request))
	event.Time = child.Created
	return store.Change{
		Execution: child.ID, Epoch: 1, Create: &store.Creation{Execution: child, Queued: true}, Events: []domain.Event{event},
		Audit: []domain.AuditRecord{audit.Execution("execution.created", child, d.actor(), audit.BySession)},
	}
}

// actor is the execution as the actor of changes to its children.
func (d *delegates) actor() domain.Actor {
	return domain.Actor{KeyID: d.execution.ByKey, Name: "execution " + string(d.execution.ID)}
}

// childRequest is the request of the child for the arguments of a call.
func (d *delegates) childRequest(call string, arguments json.RawMessage) (wanted domain.DelegateArguments, request domain.Request, err error) {
	if wanted, err = decodeArguments[domain.DelegateArguments](arguments); err != nil {
		return wanted, request, err
	}
	if strings.TrimSpace(wanted.Prompt) == "" {
		return wanted, request, domain.Errorf(domain.CodeInvalidArguments, "The prompt is empty.")
	}
	if err = d.checkRoom(); err != nil {
		return wanted, request, err
	}
	var earlier []domain.ContextMessage
	if wanted.Context == domain.ContextItems {
		if earlier, err = d.conversation(); err != nil {
			return wanted, request, err
		}
	}
	ctx, cancel := d.claim.reading()
	defer cancel()
	request, err = d.engine.delegates.Child(ctx, *d.execution, call, wanted, earlier)
	return wanted, request, err
}

// checkRoom refuses one more child if the tree or the execution is full.
func (d *delegates) checkRoom() error {
	if err := d.read(); err != nil {
		return err
	}
	if depth := d.depth(); depth >= domain.MaxDelegationDepth {
		return domain.Errorf(domain.CodePolicyDenied, "An agent at depth %d may not delegate any further.", depth)
	}
	if n := d.countLive(); n >= domain.MaxLiveChildren {
		return domain.Errorf(domain.CodeTooMany, "%d agents work for this execution already, which is the most; wait for one of them.", n)
	}
	ctx, cancel := d.claim.reading()
	defer cancel()
	n, err := d.engine.store.TreeSize(ctx, d.execution.Root())
	if err == nil && n >= domain.MaxTree {
		err = domain.Errorf(domain.CodeTooMany, "The root of this execution has %d agents below it, which is the most; go on with those that you have.", n)
	}
	return err
}

func (d *delegates) depth() int {
	if d.execution.Request.Parent == nil {
		return 0
	}
	return d.execution.Request.Parent.Depth
}

// conversation is the conversation of the execution so far, without the states of its model's provider.
func (d *delegates) conversation() ([]domain.ContextMessage, error) {
	transcript := domain.NewTranscript()
	if err := eachEvent(d.claim.lease, d.engine.store, d.execution.ID, transcript.Apply); err != nil {
		return nil, err
	}
	number := 0
	said := domain.ContextMessages(d.execution.Request.Brought(), true, &number)
	return append(said, domain.ContextMessages(transcript.Messages(), true, &number)...), nil
}

// await waits for children.
func (d *delegates) await(change *changeSet, c *call, started domain.ToolCallStarted) error {
	wanted, err := d.awaitArguments(started.Arguments)
	if err != nil {
		return err
	}
	d.waitFor(change, c, started, wanted.Mode, wanted.IDs...)
	if len(wanted.IDs) == 0 {
		d.finish(change, c, "Nobody works for you, and no result waits.", nil)
	}
	return nil
}

func (d *delegates) awaitArguments(arguments json.RawMessage) (wanted domain.AwaitDelegatesArguments, err error) {
	if wanted, err = decodeArguments[domain.AwaitDelegatesArguments](arguments); err != nil {
		return wanted, err
	}
	switch wanted.Mode {
	case "":
		wanted.Mode = domain.AwaitAll
	case domain.AwaitAll, domain.AwaitAny:
	default:
		return wanted, domain.Errorf(domain.CodeInvalidArguments, "The mode is all or any.")
	}
	if err := d.read(); err != nil {
		return wanted, err
	}
	for _, id := range wanted.IDs {
		if err := d.checkChild(id); err != nil {
			return wanted, err
		}
	}
	if len(wanted.IDs) == 0 { // models send an empty list in place of an absent one
		for _, id := range d.order {
			if child := d.child(id); child.Live || child.Untaken() {
				wanted.IDs = append(wanted.IDs, id)
			}
		}
	}
	slices.Sort(wanted.IDs)
	wanted.IDs = slices.Compact(wanted.IDs)
	return wanted, nil
}

// checkChild refuses the id of an execution that is no child of this one.
func (d *delegates) checkChild(id domain.ExecutionID) error {
	if _, is := d.progress.Delegates[id]; is {
		return nil
	}
	return domain.Errorf(domain.CodeInvalidArguments, "You have not delegated anything to %q.", id)
}

// beginMessage starts a call that sends a child a further prompt. The prompt is sent after the start, with an idempotency key of the call: so it arrives
// once, also if the server dies in between.
func (d *delegates) beginMessage(change *changeSet, c *call, started domain.ToolCallStarted) error {
	wanted, err := d.messageArguments(started.Arguments)
	if err != nil {
		return err
	}
	c.undelivered = true
	d.waitFor(change, c, started, domain.AwaitAll, wanted.ID)
	return nil
}

func (d *delegates) messageArguments(arguments json.RawMessage) (wanted domain.MessageDelegateArguments, err error) {
	if wanted, err = decodeArguments[domain.MessageDelegateArguments](arguments); err != nil {
		return wanted, err
	}
	if strings.TrimSpace(wanted.Prompt) == "" {
		return wanted, domain.Errorf(domain.CodeInvalidArguments, "The prompt is empty.")
	}
	if err := d.checkChild(wanted.ID); err != nil {
		return wanted, err
	}
	if err := d.read(); err != nil {
		return wanted, err
	}
	child := d.child(wanted.ID)
	switch {
	case child.Ended():
		return wanted, domain.Errorf(domain.CodeExecutionEnded, "%s has ended: it is %s. Delegate anew.", child.Name, child.Status)
	case child.Untaken(): // its next result would replace this one
		return wanted, domain.Errorf(domain.CodeConflict, "%s has a result that you have not read: call %s first.", child.Name, domain.AwaitDelegatesTool)
	case !child.Live && d.countLive() >= domain.MaxLiveChildren:
		return wanted, d.checkRoom()
	}
	return wanted, nil
}

// deliver sends the prompt of a call. It ends the call if the child refuses the prompt, or if the call does not wait for the answer.
func (d *delegates) deliver(change *changeSet, c *call) error {
	wanted, err := decodeArguments[domain.MessageDelegateArguments](c.logged().Call.Arguments)
	if err == nil {
		err = d.prompt(c, wanted)
	}
	switch code := domain.CodeOf(err); {
	case err == nil:
	case code == domain.CodeStorage || code == domain.CodeUnavailable || d.claim.lease.Err() != nil:
		return err
	default:
		failure := domain.FailureOf(err)
		if code == domain.CodeStale {
			failure = domain.Failure{Code: domain.CodeExecutionEnded, Message: "The agent has ended before the message reached it."}
		}
		c.undelivered = false
		d.finish(change, c, failure.Message, &failure)
		return nil
	}
	c.undelivered = false
	if wanted.Background() {
		d.finish(change, c, fmt.Sprintf("The message has reached %s.", d.child(wanted.ID).Name), nil)
	}
	return nil
}

// prompt queues the prompt of a call for its child, once.
func (d *delegates) prompt(c *call, wanted domain.MessageDelegateArguments) error {
	prompt := domain.QueuedPrompt{
		ID: domain.PromptID(approvals.NewID()), Execution: wanted.ID, Text: d.engine.masker.MaskString(wanted.Prompt), WhenBusy: domain.WhenBusyEnqueue,
		By: d.actor(), Created: d.recorder.clock.now(),
	}
	digest := sha256.Sum256([]byte(prompt.Text))
	_, err := d.engine.log.Commit(d.claim.lease, store.Change{
		Execution: wanted.ID,
		Prompt: &store.NewPrompt{Prompt: prompt, Idempotency: &store.Idempotency{
			Key: "delegate " + string(d.execution.ID) + " " + c.ID, BodyHash: digest[:],
		}},
		Events: []domain.Event{domain.NewEvent(wanted.ID, domain.PromptQueued{PromptID: prompt.ID, Text: prompt.Text, WhenBusy: prompt.WhenBusy, By: prompt.By})},
	})
	if domain.CodeOf(err) == domain.CodeConflict { // an earlier driver has sent it
		return nil
	}
	if errors.Is(err, store.ErrCommitUnknown) {
		return domain.Errorf(domain.CodeStorage, "Nobody knows whether the prompt was written.").With(err)
	}
	if err == nil {
		if child, read := d.known[wanted.ID]; read {
			child.Live = true
			d.known[wanted.ID] = child
		}
	}
	return err
}

// cancel cancels a child, and waits for its end.
func (d *delegates) cancel(change *changeSet, c *call, started domain.ToolCallStarted) error {
	wanted, err := d.cancelArguments(started.Arguments)
	if err != nil {
		return err
	}
	d.waitFor(change, c, started, domain.AwaitAll, wanted.ID)
	if !d.child(wanted.ID).Ended() {
		reason := d.engine.masker.MaskString(wanted.Reason)
		if reason == "" {
			reason = "cancelled by its parent"
		}
		change.linked = append(change.linked, store.Change{
			Execution: wanted.ID, Cancel: &store.CancelRequest{Reason: reason, By: d.actor()}, IfLive: true,
		})
	}
	return nil
}

func (d *delegates) cancelArguments(arguments json.RawMessage) (wanted domain.CancelDelegateArguments, err error) {
	if wanted, err = decodeArguments[domain.CancelDelegateArguments](arguments); err != nil {
		return wanted, err
	}
	if err := d.checkChild(wanted.ID); err != nil {
		return wanted, err
	}
	return wanted, d.read()
}

// endTurn cancels the live children at the end of the turn, if the request says so.
func (d *delegates) endTurn(change *changeSet) {
	if !d.cancelsOnEnd() {
		return
	}
	for id := range d.progress.Delegates {
		if d.child(id).Live {
			change.linked = append(change.linked, store.Change{
				Execution: id, Cancel: &store.CancelRequest{Reason: "the turn of its parent has ended", By: d.actor()}, IfLive: true,
			})
		}
	}
}

// end ends the children with their parent, in its transaction: live children are cancelled, and idle ones are closed.
func (d *delegates) end(change *changeSet, end outcome) {
	request := store.CancelRequest{Reason: "its parent has ended", By: d.actor()}
	if end.cancel != nil {
		request.By = end.cancel.By
	}
	for id := range d.progress.Delegates {
		switch child := d.child(id); {
		case child.Ended():
		case child.Live:
			change.linked = append(change.linked, store.Change{Execution: id, Cancel: &request, IfLive: true})
		default:
			change.linked = append(change.linked, store.Change{Execution: id, Close: &request.By, IfLive: true})
		}
	}
}

// decodeArguments decodes the arguments of a call.
func decodeArguments[A any](arguments json.RawMessage) (a A, err error) {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return a, domain.Errorf(domain.CodeInvalidArguments, "The arguments do not fit: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	return a, nil
}
