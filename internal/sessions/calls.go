package sessions

import (
	"errors"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// asked judges a call that the agent wants to run.
func (s *session) asked(d *draft, a *ask) {
	if s.closing {
		return // the asker's context has ended, or will; the call gets its fate with the end of the turn
	}
	c := s.announced(d, a.call)
	if c == nil || c.ask != nil || c.running {
		a.reply <- domain.Grant{Message: "This call was already judged."}
		return
	}
	c.ask = a
	c.Version = a.call.Version
	switch row, decided := s.decided[c.ID]; {
	case decided:
		delete(s.decided, c.ID)
		s.settle(d, c, row)
	case c.approval != nil: // an earlier driver asked; coming back to the same question is as far as one can come
		d.progress = true
	default:
		s.judge(d, c)
	}
}

// announced returns the call, and announces it where the agent did not. Nil: it has had its fate.
func (s *session) announced(d *draft, asked domain.ToolCall) *call {
	if c, known := s.calls[asked.ID]; known {
		return c
	}
	s.requested(d, domain.ToolCallRequested{
		ToolCallID: asked.ID, MessageID: s.round, Tool: asked.Tool, Class: asked.Class,
		Arguments: asked.Arguments, Summary: asked.Summary,
	})
	return s.calls[asked.ID]
}

func (s *session) judge(d *draft, c *call) {
	if c.Class == domain.ClassExecute && s.sandbox.Name() == NoSandbox {
		s.refuse(d, c, domain.FateFailed, domain.Failure{Code: domain.CodeSandboxUnavailable, Message: noSandboxMessage})
		return
	}
	hash, err := approvals.Hash(c.ToolCall, s.execution.Request.WorkingDirectory)
	if err != nil {
		s.refuse(d, c, domain.FateFailed, domain.Failure{
			Code: domain.CodeInvalidArguments, Message: "The arguments of this call have no canonical form.",
		})
		return
	}
	action := approvals.Action{Tool: c.Tool, Class: c.Class, ArgumentsHash: hash}
	switch j := approvals.Judge(action, s.execution.Request.Capabilities, s.rules); j.Verdict {
	case domain.Allow:
		s.start(d, c, domain.ToolCallStarted{ToolCallID: c.ID, Arguments: c.Arguments, AllowedBy: string(j.By), RuleID: j.RuleID})
	case domain.Ask:
		s.ask(d, c, hash)
	default:
		s.refuse(d, c, domain.FateDenied, domain.Failure{
			Code: domain.CodePolicyDenied, Message: "This execution may not use tools that " + string(c.Class) + ".",
		})
	}
}

const noSandboxMessage = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"SIGNOFF_SANDBOX=off runs commands unconfined."

// ask opens an approval. The session counts it as open before anybody can see it, so an answer that comes at once
// finds its waiter.
func (s *session) ask(d *draft, c *call, hash string) {
	timeout := time.Duration(s.execution.Request.ApprovalTimeoutSeconds) * time.Second
	approval := approvals.New(s.execution, c.ToolCall, hash, timeout, time.Now())
	c.approval = &approval
	s.derive(d)
	d.asked = append(d.asked, approval)
	d.add(approvals.Requested(approval))
}

// start lets a call run, once its start is in the log.
func (s *session) start(d *draft, c *call, started domain.ToolCallStarted) {
	c.approval, c.running = nil, true
	if c.Class == domain.ClassExecute {
		started.Sandbox = s.sandbox.Name()
	}
	d.add(started)
	s.reply(d, c, domain.Grant{Allowed: true, Arguments: started.Arguments})
}

// refuse gives a call its fate without running it; the model reads the failure's message as the result.
func (s *session) refuse(d *draft, c *call, fate domain.Fate, failure domain.Failure) {
	s.endCall(c)
	d.progress = true
	d.add(domain.ToolCallCompleted{ToolCallID: c.ID, Fate: fate, Output: failure.Message, Error: &failure})
	s.reply(d, c, domain.Grant{Message: failure.Message})
}

func (s *session) reply(d *draft, c *call, grant domain.Grant) {
	if waiting := c.ask; waiting != nil {
		d.replies = append(d.replies, func() { waiting.reply <- grant })
	}
}

// decisions reads the approvals again and acts on those that are not pending any more. The rules are read after the
// rows: a decision and the rule that it leaves are one transaction, so whoever sees the one sees the other.
func (s *session) decisions() (*draft, error) {
	d := &draft{}
	if !s.anyCall(func(c *call) bool { return c.approval != nil }) {
		return d, nil
	}
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return nil, err
	}
	if s.rules, err = s.store.Rules(ctx, s.execution.ID); err != nil {
		return nil, err
	}
	for _, row := range rows {
		c, open := s.calls[row.Call.ID]
		switch {
		case !open || c.approval == nil || c.approval.ID != row.ID || row.Status == domain.ApprovalPending:
		case c.ask == nil: // taken up, and the agent has not come back to it yet
			c.approval, s.decided[c.ID] = nil, row
		default:
			s.settle(d, c, row)
		}
	}
	s.derive(d)
	return d, nil
}

// settle acts on a decided approval, with the row as the store holds it: what the agent asked for is not looked at
// again.
func (s *session) settle(d *draft, c *call, row domain.Approval) {
	c.approval = nil
	if row.Status != domain.ApprovalApproved {
		fate, failure := approvals.Refusal(row)
		s.refuse(d, c, fate, failure)
		return
	}
	arguments, err := approvals.Granted(row)
	if err != nil {
		s.refuse(d, c, domain.FateFailed, domain.FailureOf(err))
		return
	}
	c.Arguments = arguments
	s.start(d, c, domain.ToolCallStarted{
		ToolCallID: c.ID, Arguments: arguments, ApprovalID: row.ID, AllowedBy: string(approvals.ByDecision),
	})
}

// nextExpiry rings when the first open approval expires; never where none does.
func (s *session) nextExpiry() (<-chan time.Time, func() bool) {
	var first *time.Time
	for _, c := range s.calls {
		if c.approval != nil && c.approval.Expires != nil && (first == nil || c.approval.Expires.Before(*first)) {
			first = c.approval.Expires
		}
	}
	if first == nil {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(*first))
	return timer.C, timer.Stop
}

// clockSkew is how long the session waits when its own clock is ahead of the database's, which alone decides.
const clockSkew = 200 * time.Millisecond

// expire ends the approvals whose time is over, each in a change of its own: one that was answered at the last moment
// must not keep the others open. What became of them is then read like any other decision.
func (s *session) expire() state {
	now := time.Now()
	for _, c := range s.calls {
		if c.approval == nil || c.approval.Expires == nil || c.approval.Expires.After(now) {
			continue
		}
		if err := s.expireOne(c); err != nil {
			return s.abandon(err)
		}
	}
	return s.sync
}

func (s *session) expireOne(c *call) error {
	resolution, event := approvals.Ended(*c.approval, domain.ApprovalExpired)
	change := (&draft{payloads: []domain.Payload{event}}).change(s)
	change.Update, change.Resolve = nil, append(change.Resolve, resolution)
	again := time.Now().Add(clockSkew) // should it still be pending by the database's clock
	c.approval.Expires = &again
	_, err := s.log.Commit(s.lease, change)
	if code := domain.CodeOf(err); err != nil && (errors.Is(err, store.ErrUnknownOutcome) || (code != domain.CodeStale && code != domain.CodeStorage)) {
		return err
	}
	return nil
}
