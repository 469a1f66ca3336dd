package items

import "signoff/internal/domain"

// Reduce returns the items of a whole log, or of its beginning.
func Reduce(request domain.Request, log []domain.Event) ([]Item, error) {
	reducer := New(request)
	for _, event := range log {
		if err := reducer.Take(event); err != nil {
			return nil, err
		}
	}
	return reducer.Items(), nil
}

// Take applies the next event. An event that was applied before, or that fails, changes nothing.
func (r *Reducer) Take(event domain.Event) error {
	step, err := Read(event)
	if err != nil && event.Seq == r.LastSeq()+1 {
		return err
	}
	return r.Apply(step)
}

// Apply is Take for a decoded event.
func (r *Reducer) Apply(step Step) error {
	last := r.event
	switch {
	case step.event.Seq <= last.Seq:
		return nil
	case step.event.Seq > last.Seq+1:
		return domain.Errorf(domain.CodeInternal, "The log has a hole: event %d follows event %d.", step.event.Seq, last.Seq)
	}
	r.event = step.event
	if err := r.take(step.payload); err != nil {
		r.event = last
		return err
	}
	return nil
}

func (r *Reducer) take(payload domain.Payload) error {
	switch p := payload.(type) {
	case domain.ExecutionCreated:
		r.begin(p)
	case domain.TurnStarted:
		r.turn = p.Turn
		r.prompted(p)
	case domain.TurnEnded:
		r.turn = 0
	case domain.BlocksGenerated:
		r.generated(p)
	case domain.BlocksAccepted:
		r.accepted(p)
	case domain.ContextCompacted:
		r.summarized(p)
	case domain.ExecutionEnded:
		r.decide(domain.GenerationCancelled) // nobody can accept the blocks any more
		r.delegatesEnd()
	case domain.MessageDelta:
		return r.addText(KindMessage, p.MessageID, p.Turn, p.Offset, p.Text)
	case domain.ThoughtDelta:
		return r.addText(KindReasoning, p.MessageID, p.Turn, p.Offset, p.Text)
	case domain.MessageCompleted:
		r.messageEnded(KindMessage, p.MessageID, p.Interrupted)
	case domain.ThoughtCompleted:
		r.messageEnded(KindReasoning, p.MessageID, p.Interrupted)
	case domain.ToolCallRequested:
		r.requested(p)
	case domain.ApprovalRequested:
		r.askedAbout(p)
	case domain.ApprovalResolved:
		r.answered(p)
	case domain.ToolCallQueued:
		r.queued(p)
	case domain.ToolCallStarted:
		r.started(p)
	case domain.ToolCallUpdated:
		return r.printed(p)
	case domain.ToolCallReported:
		r.reported(p)
	case domain.ToolCallCompleted:
		r.completed(p)
	default:
		r.takeDisk(payload)
		r.takeDelegate(payload)
	}
	return nil
}

func (r *Reducer) takeDisk(payload domain.Payload) {
	switch p := payload.(type) {
	case domain.CheckpointCreated:
		r.checkpointed(p)
	case domain.RollbackCompleted:
		r.rolledBack(p)
	}
}

func (r *Reducer) takeDelegate(payload domain.Payload) {
	switch p := payload.(type) {
	case domain.DelegateStarted:
		r.delegated(p)
	case domain.DelegateUpdated:
		r.delegateUpdated(p)
	case domain.DelegateApprovalRequested:
		r.delegateAsked(p)
	case domain.DelegateApprovalResolved:
		r.delegateAnswered(p)
	case domain.DelegateReturned:
		r.delegateReturned(p)
	}
}
