package sessions

import (
	"errors"
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Calls that the client runs. They are judged like any other; what starts is that the client is asked. Its answer is a row,
// like a decision, and so it is not lost with a process: neither the question nor the answer.

// hand leaves a call that may run to the client. Whoever asked for it goes on waiting.
func (s *Session) hand(d *draft, c *call, started domain.ToolCallStarted) {
	waiting := domain.ClientCall{
		Execution: s.execution.ID, ToolCallID: c.ID, Tool: c.Tool, Arguments: s.deps.masker.JSON(started.Arguments),
		State: domain.ClientCallWaiting, Asked: time.Now().UTC().Truncate(time.Microsecond),
	}
	if seconds := s.execution.Request.ApprovalTimeoutSeconds; seconds > 0 {
		expires := waiting.Asked.Add(time.Duration(seconds) * time.Second)
		waiting.Expires = &expires
	}
	started.Awaits, started.ExpiresAt = domain.AwaitsClient, waiting.Expires
	s.emit(d, started)
	d.handed = append(d.handed, waiting)
	c.approval, c.client = nil, &waiting
}

// runsHere tells whether the server or its agent is at work on the call.
func (c *call) runsHere() bool { return c.running() && !c.awaitsClient() }

// awaitsClient tells whether only the client can bring the call any further.
func (c *call) awaitsClient() bool {
	return c.client != nil && c.client.State == domain.ClientCallWaiting
}

// clientAnswers acts on the calls that do not wait for the client any more. One that our agent has not come back to since a
// restart is left until it does: the answer is what it comes back for.
func (s *Session) clientAnswers(d *draft) error {
	if err := s.readClientCalls(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c.client != nil && c.ask != nil && !c.awaitsClient() {
			s.answered(d, c)
			s.derive(d)
		}
	}
	return nil
}

// readClientCalls brings the picture of the client's calls up to date. When they are to be ended again, this server knows better
// than the row where its clock is ahead.
func (s *Session) readClientCalls() error {
	var ids []string
	for id, c := range s.calls {
		if c.client != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.deps.store.ClientCalls(ctx, s.execution.ID, ids...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		c := s.calls[row.ToolCallID]
		if again := c.client.Expires; again != nil && row.Expires != nil && again.After(*row.Expires) {
			row.Expires = again
		}
		c.client = &row
	}
	return nil
}

// answered gives a call the outcome that its client has brought about.
func (s *Session) answered(d *draft, c *call) {
	done := c.clientOutcome()
	s.endOutput(d, c)
	d.advanced = true
	s.complete(d, c, done)
	s.endCall(c)
	s.reply(d, c, reply{grant: domain.Grant{Message: done.Output}})
}

// clientOutcome is what became of a call that does not wait any more.
func (c *call) clientOutcome() domain.ToolCallCompleted {
	done := domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded}
	fail := func(outcome domain.Outcome, code domain.Code, message string) {
		done.Outcome, done.Output, done.Error = outcome, message, &domain.Failure{Code: code, Message: message}
	}
	switch answer := c.client.Answer; {
	case c.client.State == domain.ClientCallExpired:
		fail(domain.OutcomeExpired, domain.CodeClientTimedOut, "The client did not answer this call in time.")
	case answer == nil:
		fail(domain.OutcomeCancelled, domain.CodeCancelled, "The turn ended before the client answered this call.")
	case answer.Error != "":
		fail(domain.OutcomeFailed, domain.CodeClientFailed, answer.Error)
	default:
		done.Output = answer.Output
	}
	return done
}

// expireClient ends the waiting of a call whose time is over. What became of it is then read: an answer of the last moment
// counts.
func (s *Session) expireClient(c *call) error {
	change := (&draft{closing: []store.ClientClosing{{ToolCallID: c.ID, To: domain.ClientCallExpired}}}).change(s)
	again := time.Now().Add(clockSkew) // should it still wait by the database's clock
	c.client.Expires = &again
	return s.endWaiting(change)
}

// endWaiting commits the end of a question. That it had ended otherwise, or that the database is away, shows when it is read.
func (s *Session) endWaiting(change store.Change) error {
	_, err := s.deps.log.Commit(s.claim.lease, change)
	code := domain.CodeOf(err)
	if err != nil && (errors.Is(err, store.ErrUnknownOutcome) || (code != domain.CodeStale && code != domain.CodeStorage)) {
		return err
	}
	return nil
}
