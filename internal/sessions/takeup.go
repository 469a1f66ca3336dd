package sessions

import (
	"context"
	"slices"
	"strings"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// takeUp is the first state of an execution that an earlier driver left. What it left open is closed as what it is:
// a message that broke off is interrupted, and what became of a call that may have run is asked or unknown.
func (s *session) takeUp() state {
	failpoint.Hit(failpoint.SessionTakingUp)
	if broken, err := s.remember(); err != nil {
		if broken {
			return s.finish(failed(domain.FailureOf(err)))
		}
		return s.abandon(err) // it is claimed again in a while
	}
	if s.onlyWaits() {
		return s.waitOn
	}
	s.arrive()
	failpoint.Hit(failpoint.SessionRemembered)
	switch {
	case s.wishes.Cancel != nil:
		return s.finish(s.cancellation())
	case s.status == domain.StatusIdle || s.status == domain.StatusInterrupted:
		return s.rested
	}
	if s.turn == 0 { // its first driver may have left before it looked
		return s.settling(s.goOnWithTurn)
	}
	return s.goOnWithTurn
}

// rested goes on with an execution that has no process, and needs none before somebody wants something of it. It can get no further
// until then, so no recovery of it is in vain.
func (s *session) rested() state {
	if s.execution.Recovery > 0 {
		if err := s.commit(&draft{progress: true}); err != nil {
			return s.abandon(err)
		}
	}
	return s.sync
}

// waitsForSomebody tells whether a person or the client is to answer: as long as they have not, nobody can get any further, and what they
// were asked must not be lost with it.
func (s *session) waitsForSomebody() bool {
	return s.anyCall((*call).waits)
}

// goOnWithTurn closes what broke off, and takes the turn up again where that is safe.
func (s *session) goOnWithTurn() state {
	d := &draft{}
	why := s.obstacle()
	if why == nil || s.status == domain.StatusQueued {
		s.to(d, domain.StatusInitializing, s.takenUpAs())
	}
	s.closeBroken(d)
	s.closeLost(d)
	d.progress = false // closing what is broken is no progress
	if why != nil {
		return s.interrupt(d, *why)
	}
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	if s.turn > 0 {
		s.loading = s.agentSession
	}
	if s.external() && s.inTurn {
		s.continued = s.continuation(domain.ResumeLoad)
	}
	return s.initializing
}

// takenUpAs is the reason that the log gives for the beginning of another driver.
func (s *session) takenUpAs() string {
	switch {
	case s.status == domain.StatusQueued && s.turn == 0:
		return "" // it was to begin here
	case s.execution.Recovery > 0:
		return "recovered"
	default: // it was parked, or handed over
		return "takenUp"
	}
}

// closeBroken closes the texts that the earlier driver did not.
func (s *session) closeBroken(d *draft) {
	s.closeTexts(d)
	for key := range s.texts {
		s.whole[key] = true
	}
	clear(s.texts)
}

// obstacle is why the execution cannot simply go on; nil where it can.
func (s *session) obstacle() *interruption {
	if reason := s.processLost(); reason != "" {
		why := processGone(reason)
		return &why
	}
	if s.exhausted() {
		return s.notRecovered()
	}
	return nil
}

// processLost is why a turn of an external agent cannot simply go on. Our own agent asks before it repeats a call; an
// external one is asked nothing by anybody, so a person is. One that had not said a word may have heard its prompt all
// the same, and have done half of it: some agents act unasked, and tell of it later.
func (s *session) processLost() string {
	if !s.external() || !s.inTurn {
		return ""
	}
	if s.agentSession == "" {
		return "The agent's process was lost in the middle of its turn. " + cannotLoad
	}
	if s.anyCall(func(c *call) bool { return c.running }) {
		return "The agent's process was lost while a call was running, which may have run in part or in full."
	}
	return ""
}

const cannotLoad = "The agent cannot take up a session of an earlier process."

// closeLost ends the calls that were lost with the process: those that had started, and of an external agent all, since nobody is
// left who would wait for an answer. Where it matters what became of one, a person is asked first.
func (s *session) closeLost(d *draft) {
	for _, open := range s.resumed.Calls {
		c := s.calls[open.Call.ID]
		switch {
		case c.client != nil: // the client was asked, not this server
			continue
		case open.Started && s.inquires(c) && s.inquire(d, c):
			continue
		case open.Started:
			unknown := approvals.OutcomeUnknown()
			s.refuse(d, c, domain.FateOutcomeUnknown, unknown)
			s.results[c.ID] = unknown.Message
		case s.external():
			s.refuse(d, c, domain.FateCancelled, domain.Failure{
				Code: domain.CodeCancelled, Message: "The agent's process was lost before this call ran.",
			})
		default:
			continue
		}
		if c.approval != nil {
			d.withdraw(*c.approval)
		}
	}
}

// remember puts into the session what the log and the rows say of an execution that is taken up. A log that is broken,
// and not only out of reach, will be the next time, too.
func (s *session) remember() (broken bool, err error) {
	conversation, broken, err := s.foldLog()
	if err != nil {
		return broken, err
	}
	s.recall(conversation)
	ctx, cancel := s.reading()
	defer cancel()
	if s.wishes, err = s.store.ControlRequests(ctx, s.execution.ID); err != nil {
		return false, err
	}
	if err := s.readClientCalls(); err != nil {
		return false, err
	}
	if s.blocks.document, err = s.store.EditedDocument(ctx, s.execution.ID); err != nil {
		return false, err
	}
	rows, err := s.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		s.recallApproval(row)
	}
	return false, nil
}

// foldLog reads what the log tells of the conversation, and whether the log is broken where it tells nothing. None of its pages is kept: of a
// million events they would be hundreds of megabytes.
func (s *session) foldLog() (conversation domain.Conversation, broken bool, err error) {
	folder := domain.NewFolder()
	err = eachEvent(s.lease, s.store, s.execution.ID, func(event domain.Event) error {
		err := folder.Take(event)
		broken = err != nil
		return err
	})
	if err != nil {
		return domain.Conversation{}, broken, err
	}
	return folder.Conversation(), false, nil
}

// recallApproval takes a question of an earlier driver as open, or keeps its answer until the agent asks again. It is the newest
// question about a call that counts: a yes to an earlier one has been used, and must not let the call run twice.
func (s *session) recallApproval(row domain.Approval) {
	c, open := s.calls[row.Call.ID]
	if open && row.ID == c.left.Under {
		c.ranUnder(row)
	}
	if open && row.Decision != nil && row.Decision.Resolution == domain.ResolutionRetry {
		c.retry = row.Decision
	}
	switch {
	case !open || row.ID != c.left.Approval || (c.running && !s.external()):
	case row.Status == domain.ApprovalPending:
		c.approval, c.came.Hash = &row, row.ArgumentsHash
	default:
		s.decided[row.Call.ID] = row
	}
	if open && row.Status != domain.ApprovalPending && c.running {
		c.came = decidedBy(row)
	}
}

// ranUnder notes what the approval under which a call started tells of it, and the log does not.
func (c *call) ranUnder(row domain.Approval) {
	c.came = decidedBy(row)
	c.Version = row.Call.Version
	if row.Decision != nil && row.Decision.Arguments != nil {
		c.edited(c.Arguments)
	}
}

func (s *session) recall(c domain.Conversation) {
	s.resumed = &c
	s.turn, s.rounds, s.inTurn, s.since = c.Turn, c.Rounds, c.InTurn, c.Since
	if c.Text != "" {
		s.promptText = c.Text
	}
	s.options, s.setting = c.Options, c.TurnOptions
	s.began, s.warned = c.UsageBefore, c.Warned
	if c.Retrying != nil {
		s.retryAt = c.Retrying.At
	}
	s.clock = newClock(s.execution.Request.TimeoutSeconds, c.ActiveTime)
	s.repairs, s.executed = c.Repair, c.Executed
	s.blocks.edits, s.blocks.newest = c.Edits, c.Generations
	s.said.add("", c.LastText)
	for _, open := range c.Open {
		kind := domain.MessageDeltaType
		if open.Thought {
			kind = domain.ThoughtDeltaType
		}
		text := s.text(kind, open.MessageID)
		text.length, text.whole = open.Length, open.Whole
	}
	for _, message := range c.Messages {
		for _, answered := range message.ToolCalls {
			s.closed[answered.ID] = true
		}
	}
	for _, open := range c.Calls {
		c := &call{ToolCall: open.Call, left: &open, running: open.Started, lost: open.Lost, came: recalled(open), generation: open.Generation}
		if open.Awaits == domain.AwaitsClient {
			c.client = &domain.ClientCall{ToolCallID: open.Call.ID, State: domain.ClientCallWaiting} // until its row is read
		}
		s.calls[open.Call.ID] = c
		delete(s.closed, open.Call.ID)
	}
}

// recalled is how a call came to run as far as the log tells; the approvals may tell more.
func recalled(open domain.OpenCall) audit.Provenance {
	came := audit.Provenance{DecidedBy: open.AllowedBy, RuleID: open.RuleID, Channel: audit.BySession}
	switch came.DecidedBy {
	case "":
		came.DecidedBy = string(approvals.ByServer)
	case string(approvals.ByAgent):
		came.Channel = audit.ByAgent
	}
	return came
}

// history is what the agent starts from: what the client brought along, and what is in the log.
func (s *session) history() ([]domain.Message, error) {
	var history []domain.Message
	for _, m := range slices.Concat(s.execution.Request.Context, s.execution.Request.Messages) {
		history = append(history, domain.Message{Role: m.Role, Text: m.Content})
	}
	if prompt := s.execution.Request.Prompt; strings.TrimSpace(prompt) != "" {
		history = append(history, domain.Message{Role: domain.RoleUser, Text: prompt})
	}
	if s.resumed == nil && s.turn == 1 {
		return history, nil
	}
	if s.resumed == nil {
		conversation, _, err := s.foldLog()
		if err != nil {
			return nil, err
		}
		s.resumed = &conversation
	}
	return append(history, s.resumed.Answered(s.results)...), nil
}

// closeText drafts the end of a text that broke off.
func (d *draft) closeText(turn int, open openText, key string) {
	switch {
	case strings.HasPrefix(key, string(domain.ToolCallUpdatedType)): // its call gets a fate, that is its end
	case open.thought:
		d.add(domain.ThoughtCompleted{MessageID: open.id, Turn: turn, Length: open.length, Interrupted: !open.whole})
	default:
		d.add(domain.MessageCompleted{MessageID: open.id, Turn: turn, Length: open.length, Interrupted: !open.whole})
	}
}

// agentLog reads what was logged of the agent's session: by the executions that it was taken over from, and by this one.
func (s *session) agentLog() domain.AgentLog {
	logs, execution := s.store, s.execution
	return func(ctx context.Context, take func(domain.Request, domain.Event)) error {
		chain := []domain.Execution{execution}
		for earlier := execution; earlier.Request.ResumeSession != "" && len(chain) < longestChain; {
			var err error
			earlier, err = logs.Execution(ctx, execution.Tenant, earlier.Request.ResumeFrom)
			if domain.CodeOf(err) == domain.CodeNotFound {
				break // it was deleted, and what it said cannot be recognised
			}
			if err != nil {
				return err
			}
			chain = append(chain, earlier)
		}
		for _, of := range slices.Backward(chain) {
			err := eachEvent(ctx, logs, of.ID, func(event domain.Event) error {
				take(of.Request, event)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// longestChain is how many executions that went on with one agent session are read.
const longestChain = 100

// eachEvent reads a log page by page, to its end or to the first error of take.
func eachEvent(ctx context.Context, logs Store, id domain.ExecutionID, take func(domain.Event) error) error {
	for after := int64(0); ; {
		limited, cancel := context.WithTimeout(ctx, readTimeout)
		page, err := logs.Events(limited, id, after, eventPage)
		cancel()
		if err != nil {
			return err
		}
		for _, event := range page {
			if err := take(event); err != nil {
				return err
			}
		}
		if len(page) < eventPage {
			return nil
		}
		after = page[len(page)-1].Seq
	}
}
