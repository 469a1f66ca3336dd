package sessions

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// asked judges a call that the agent wants to run, or asks about.
func (s *session) asked(d *draft, a *ask) {
	if s.leaving {
		return // the asker's context ends soon; it asks again where the execution is driven next
	}
	if s.closing || !s.inTurn || s.result != nil || s.spent != nil {
		a.reply <- nobody
		return
	}
	exposed := s.veil(a)
	c := s.announced(d, a.Call)
	if c == nil || c.ask != nil || (c.running && a.ours()) || s.spent != nil {
		a.reply <- nobody
		return
	}
	c.ask = a
	if exposed && a.ours() {
		s.refuse(d, c, domain.FateFailed, domain.Failure{Code: domain.CodeSecretExposed, Message: exposedMessage})
		return
	}
	if a.ours() {
		c.Version, c.Action = a.Call.Version, a.Call.Action
	} else { // an external agent often says only now what the call is about: that is what a person is to see
		c.ToolCall = a.Call
	}
	row, decided := s.decided[c.ID]
	delete(s.decided, c.ID)
	switch {
	case c.approval != nil: // an earlier driver asked; coming back to the same question is as far as one can come
		d.progress = true
		s.behind = true // a rule of the time in between may answer it
	case decided:
		s.settle(d, c, row)
	default:
		s.judge(d, c)
	}
}

// nobody will answer: the call was judged before, or the turn is over.
var nobody = reply{
	grant:  domain.Grant{Message: "This call was judged before, or comes too late."},
	answer: domain.Answer{Status: domain.ApprovalCancelled},
}

// unasked notes that the asker of a question has left. What the question asked for stays open until the agent says
// what became of it.
func (s *session) unasked(gone *ask) {
	for _, c := range s.calls {
		if c.ask == gone {
			c.ask = nil
		}
	}
}

// moot is the call whose open question loses its sense with what the agent says next.
func (s *session) moot(i item) *call {
	if p, ended := i.payload.(domain.ToolCallCompleted); ended {
		if c := s.calls[p.ToolCallID]; c != nil && c.approval != nil {
			return c
		}
		return nil
	}
	if i.withdrawn == nil {
		return nil
	}
	for _, c := range s.calls {
		if c.ask == i.withdrawn && c.approval != nil {
			return c
		}
	}
	return nil
}

// withdraw ends an open question, unless a decision was faster: that is acted on then. Where the turn is over nobody is
// left who could act on it, and nothing starts any more.
func (s *session) withdraw(c *call) error {
	d := &draft{}
	d.withdraw(*c.approval)
	err := s.commit(d)
	if err == nil {
		c.approval = nil
		s.dismissAsker(c)
		return nil
	}
	if domain.CodeOf(err) != domain.CodeStale || errors.Is(err, store.ErrUnknownOutcome) {
		return err
	}
	if s.closing || s.result != nil {
		if !s.dropDecided() {
			return err
		}
		s.dismissAsker(c)
		return nil
	}
	decided, readErr := s.decisionsAtLast()
	if readErr != nil {
		return readErr
	}
	if c.approval != nil {
		return err // it was not a decision that refused the change
	}
	return s.commit(decided)
}

// decisionsAtLast reads the decisions, and again while the database is away: what hangs on them cannot wait for a bell.
func (s *session) decisionsAtLast() (*draft, error) {
	for {
		decided, err := s.decisions()
		if err == nil {
			return decided, nil
		}
		slog.Warn("cannot read, trying again", "execution", s.execution.ID, "error", err)
		select {
		case <-time.After(readPause):
		case <-s.lease.Done():
			return nil, err
		}
	}
}

// withdrawAll ends all open questions.
func (s *session) withdrawAll() error {
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c != nil && c.approval != nil {
			if err := s.withdraw(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) dismissAsker(c *call) {
	if c.ask != nil {
		c.ask.reply <- nobody
		c.ask = nil
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
	if c.ask.ours() && c.Class == domain.ClassExecute && s.sandbox.Name() == NoSandbox {
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
	judgement, err := s.judgement(c, hash)
	if err != nil { // it is judged when the rules can be read; meanwhile it waits
		s.postpone(err)
		return
	}
	c.came = provenance(judgement, hash)
	if judgement.RuleID != "" {
		d.hits = append(d.hits, judgement.RuleID)
	}
	switch verdict := judgement.Verdict; {
	case verdict == domain.Deny:
		s.refuse(d, c, domain.FateDenied, domain.Failure{Code: domain.CodePolicyDenied, Message: judgement.Reason})
	case verdict == domain.Allow && c.ask.allowable():
		s.start(d, c, domain.ToolCallStarted{
			ToolCallID: c.ID, Arguments: c.Arguments, AllowedBy: string(judgement.By), RuleID: judgement.RuleID, Reason: judgement.Reason,
		}, domain.Answer{Status: domain.ApprovalApproved, OptionID: c.ask.option()})
	default:
		s.ask(d, c, hash, judgement)
	}
}

// judgement is what the policy says of a call, with the rules as they are now: one that was revoked a moment ago must
// not allow, and one that was made a moment ago is not to be asked about again.
func (s *session) judgement(c *call, hash string) (approvals.Judgement, error) {
	if c.ask.Kind == domain.ApprovalQuestion { // an answer in words is nobody's to give but a person's
		return approvals.JudgeQuestion(s.execution.Request), nil
	}
	if err := s.readRules(); err != nil {
		return approvals.Judgement{}, err
	}
	judged := c.ToolCall
	judged.Action.Paths = withTargets(judged.Action.Paths)
	judgement := s.policy.Judge(judged, hash, time.Now())
	if command := c.Action.Command; s.masker.MaskString(command) != command { // cut to a sentence, it might show half of it
		judgement.Reason = "The command holds a secret, so the reason is not shown; the rules decided as for any other."
	}
	return judgement, nil
}

func (s *session) readRules() error {
	ctx, cancel := s.reading()
	defer cancel()
	rules, err := s.store.Rules(ctx, s.execution.Tenant, s.execution.ID)
	if err == nil {
		s.policy.Rules = rules
	}
	return err
}

// judgePostponed judges what waits since the rules could not be read.
func (s *session) judgePostponed(d *draft) {
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c != nil && c.ask != nil && c.approval == nil && !c.running {
			s.judge(d, c)
		}
	}
}

func provenance(judgement approvals.Judgement, hash string) audit.Provenance {
	return audit.Provenance{
		DecidedBy: string(judgement.By), RuleID: judgement.RuleID, Reason: judgement.Reason, Hash: hash, Channel: audit.BySession,
	}
}

// allowable tells whether a yes without a person can be said at all: to one of our own calls, and to an agent that
// offers exactly one option for it.
func (a *ask) allowable() bool { return a.ours() || a.option() != "" }

func (a *ask) option() string {
	id, _ := approvals.AllowingOption(approvals.Options(a.Options))
	return id
}

const exposedMessage = "The arguments hold the value of a secret, so they cannot be shown to anybody; name the secret instead."

const noSandboxMessage = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"SIGNOFF_SANDBOX=off runs commands unconfined."

// ask opens an approval. The session counts it as open before anybody can see it, so an answer that comes at once
// finds its waiter.
func (s *session) ask(d *draft, c *call, hash string, judgement approvals.Judgement) {
	timeout := time.Duration(s.execution.Request.ApprovalTimeoutSeconds) * time.Second
	question := c.ask.Question
	question.Call = c.ToolCall
	approval := approvals.New(s.execution, question, hash, judgement, timeout, time.Now())
	if s.masker.MaskString(c.Action.Command) != c.Action.Command { // a rule would show the secret, and mean another command
		approval.RememberOptions = approval.RememberOptions[:1]
	}
	c.approval = &approval
	s.derive(d)
	d.asked = append(d.asked, approval)
	requested := approvals.Requested(approval)
	requested.Sandbox = s.confines(c)
	d.add(requested)
}

// confines is the sandbox of a command that we run; everybody who looks at it sees whether there are walls.
func (s *session) confines(c *call) string {
	if c.Class == domain.ClassExecute && c.ask != nil && c.ask.ours() {
		return s.sandbox.Name()
	}
	return ""
}

// start lets a call run, once its start is in the log. One that an external agent has begun before it asked has no
// second start.
func (s *session) start(d *draft, c *call, started domain.ToolCallStarted, answer domain.Answer) {
	if !c.running {
		c.sandbox = s.confines(c)
		started.Sandbox = c.sandbox
		d.add(started)
	}
	c.approval, c.running, c.refusal = nil, true, nil
	s.reply(d, c, reply{grant: domain.Grant{Allowed: true, Arguments: started.Arguments}, answer: answer})
}

// refuse gives a call its fate without running it; the model reads the failure's message as the result.
func (s *session) refuse(d *draft, c *call, fate domain.Fate, failure domain.Failure) {
	answer := domain.Answer{Status: refusedAs[fate]}
	if c.ask != nil && answer.Status != domain.ApprovalCancelled {
		answer.OptionID = approvals.RefusingOption(approvals.Options(c.ask.Options))
	}
	s.refuseWith(d, c, fate, failure, answer)
}

// refusedAs is what an external agent is told in place of a fate.
var refusedAs = map[domain.Fate]domain.ApprovalStatus{
	domain.FateDenied: domain.ApprovalDenied, domain.FateFailed: domain.ApprovalDenied, domain.FateExpired: domain.ApprovalExpired,
	domain.FateCancelled: domain.ApprovalCancelled, domain.FateOutcomeUnknown: domain.ApprovalCancelled,
}

// refuseWith ends a call that does not run. Some external agents say that a call has begun and ask only then: what
// becomes of such a one is theirs to say, but where they say that it failed, or say nothing, it was refused.
func (s *session) refuseWith(d *draft, c *call, fate domain.Fate, failure domain.Failure, answer domain.Answer) {
	s.toldNo = s.toldNo || answer.Status == domain.ApprovalDenied || answer.Status == domain.ApprovalExpired
	answer.Message = failure.Message
	if c.running && c.ask != nil && !c.ask.ours() {
		c.refusal = &refusal{fate, failure}
		s.reply(d, c, reply{answer: answer})
		return
	}
	s.endOutput(d, c)
	s.endCall(c)
	d.progress = true
	d.fate(s, c, domain.ToolCallCompleted{ToolCallID: c.ID, Fate: fate, Output: failure.Message, Error: &failure})
	s.reply(d, c, reply{grant: domain.Grant{Message: failure.Message}, answer: answer})
}

// reply answers the asker after the commit. An external agent may ask about the same call again.
func (s *session) reply(d *draft, c *call, answer reply) {
	waiting := c.ask
	if waiting == nil {
		return
	}
	d.replies = append(d.replies, func() { waiting.reply <- answer })
	if !waiting.ours() {
		c.ask = nil
	}
}

// decisions reads the approvals again and acts on those that are not pending any more.
func (s *session) decisions() (*draft, error) {
	d := &draft{}
	s.judgePostponed(d)
	if !s.anyCall(func(c *call) bool { return c.approval != nil }) {
		return d, nil
	}
	if err := s.answerByRules(); err != nil {
		return nil, err
	}
	s.behind = false
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c, open := s.calls[row.Call.ID]
		switch {
		case !open || c.approval == nil || c.approval.ID != row.ID || row.Status == domain.ApprovalPending:
		case c.ask == nil: // taken up, and our own agent has not come back to it yet
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
	c.came = decidedBy(row)
	switch {
	case row.Status != domain.ApprovalApproved:
		s.turnDown(d, c, row)
		return
	case c.ask.ours() && row.Call.Version != c.Version: // a person approved what the tool did before this server was updated
		s.judge(d, c)
		return
	}
	arguments, err := approvals.Granted(row)
	if err != nil {
		s.refuse(d, c, domain.FateFailed, domain.FailureOf(err))
		return
	}
	if row.Decision.Arguments != nil {
		c.edited(arguments)
	}
	c.Arguments = arguments
	s.start(d, c, domain.ToolCallStarted{
		ToolCallID: c.ID, Arguments: arguments, ApprovalID: row.ID, AllowedBy: c.came.DecidedBy, RuleID: c.came.RuleID,
	}, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID, Content: row.Decision.Answer})
}

// edited forgets what the call would have done: with the decider's arguments it does something else, which the record
// must not call by the old name.
func (c *call) edited(arguments json.RawMessage) {
	c.Summary = "With arguments that the decider wrote: " + string(arguments)
	c.Action = domain.Action{}
}

// decidedBy tells who ended a question, for the record.
func decidedBy(row domain.Approval) audit.Provenance {
	came := audit.Provenance{
		DecidedBy: string(approvals.ByServer), Hash: row.ArgumentsHash, Channel: audit.BySession,
		AskedBy: row.AskedBy, AskedReason: row.Reason,
	}
	switch {
	case row.Status == domain.ApprovalExpired:
		came.DecidedBy = string(approvals.ByExpiry)
	case row.Decision == nil:
	case row.Decision.ByRule():
		came.DecidedBy, came.RuleID, came.Actor = string(approvals.ByRule), row.Decision.RuleID, &row.Decision.By
	default:
		came.DecidedBy, came.Reason, came.Actor = string(approvals.ByDecision), row.Decision.Reason, &row.Decision.By
		came.RuleID = row.Decision.RuleID
	}
	if row.Decision != nil && row.Decision.ArgumentsHash != "" {
		came.Hash = row.Decision.ArgumentsHash
	}
	return came
}

// turnDown refuses a call as its approval ended. A person may have named the option that says no.
func (s *session) turnDown(d *draft, c *call, row domain.Approval) {
	fate, failure := approvals.Refusal(row)
	if row.Decision == nil {
		s.refuse(d, c, fate, failure)
		return
	}
	s.refuseWith(d, c, fate, failure, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID})
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
