package sessions

import (
	"context"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// How a call is judged: by the policy, with the rules as they are at that moment. It is judged beside the session, which hears
// of a cancellation, a time-out or the end of its lease meanwhile.

// Judge is how calls are judged; see [approvals.Policy.Judge].
type Judge func(policy approvals.Policy, ctx context.Context, call domain.ToolCall, hash string, now time.Time) approvals.Judgement

func (s *Session) judge(change *changeSet, c *call) {
	c.unjudged = false
	if s.confines(c) == NoSandbox {
		s.refuse(change, c, domain.OutcomeFailed, domain.Failure{Code: domain.CodeSandboxUnavailable, Message: approvals.NoSandbox})
		return
	}
	hash, err := approvals.Hash(c.ToolCall, s.execution.Request.WorkingDirectory)
	if err != nil {
		s.refuse(change, c, domain.OutcomeFailed, domain.Failure{
			Code: domain.CodeInvalidArguments, Message: "The arguments of this call have no canonical form.",
		})
		return
	}
	judgement, judged, err := s.judgement(c, hash)
	if err != nil { // it is judged when the rules can be read; meanwhile it waits
		s.postpone(err)
	}
	if !judged {
		c.unjudged = true
		return
	}
	if c.lost() {
		judgement = approvals.Repeated(judgement, c.wished())
	} else {
		c.came = provenance(judgement, hash)
	}
	if judgement.RuleID != "" {
		change.hits = append(change.hits, judgement.RuleID)
	}
	switch verdict := judgement.Verdict; {
	case verdict == domain.Deny:
		s.refuse(change, c, domain.OutcomeDenied, domain.Failure{Code: domain.CodePolicyDenied, Message: judgement.Reason})
	case verdict == domain.Allow && c.ask.allowable():
		s.start(change, c, domain.ToolCallStarted{
			ToolCallID: c.ID, Arguments: c.Arguments, AllowedBy: string(judgement.By), RuleID: judgement.RuleID, Reason: judgement.Reason,
		}, domain.Answer{Status: domain.ApprovalApproved, OptionID: c.ask.option()})
	default:
		s.ask(change, c, hash, judgement)
	}
}

// judgement is what the policy says of a call, with the rules as they are now: one that was revoked a moment ago must
// not allow, and one that was made a moment ago is not to be asked about again. Where it takes a while it is not there yet,
// and the session is woken when it is.
func (s *Session) judgement(c *call, hash string) (judgement approvals.Judgement, judged bool, err error) {
	if c.ask.Kind == domain.ApprovalQuestion { // an answer in words is nobody's to give but a person's
		return approvals.JudgeQuestion(s.execution.Request), true, nil
	}
	if err := s.readRules(); err != nil {
		return approvals.Judgement{}, false, err
	}
	if judgement, judged = s.judgeByPolicy(c, hash); !judged {
		return approvals.Judgement{}, false, nil
	}
	if s.recorder.hides(c.Action.Command) { // cut to a sentence, it might show half of it
		judgement.Reason = "The command holds a secret, so the reason is not shown; the rules decided as for any other."
	}
	return judgement, true, nil
}

// judging is the judgement of one call, under way in a goroutine of its own.
type judging struct {
	ask       *ask
	hash      string
	rules     []string // ids of the rules that it is judged by
	cancel    context.CancelFunc
	done      chan struct{}
	judgement approvals.Judgement // set when done closes
}

// judgeByPolicy goes on with the judgement that is under way, where it is of the same call by the same rules.
func (s *Session) judgeByPolicy(c *call, hash string) (approvals.Judgement, bool) {
	rules := ids(s.rules.policy.Rules)
	if j := c.judging; j != nil && (j.ask != c.ask || j.hash != hash || !slices.Equal(j.rules, rules)) {
		j.cancel()
		c.judging = nil
	}
	if c.judging == nil {
		c.judging = s.beginToJudge(c, hash, rules)
	}
	j := c.judging
	if !j.soon() {
		go func() {
			<-j.done
			ring(s.rules.verdicts)
		}()
		return approvals.Judgement{}, false
	}
	c.judging, c.judgedBy = nil, rules
	return j.judgement, true
}

func ids(rules []domain.PermissionRule) []string {
	all := make([]string, len(rules))
	for i, rule := range rules {
		all[i] = rule.ID
	}
	return all
}

func (s *Session) beginToJudge(c *call, hash string, rules []string) *judging {
	ctx, cancel := context.WithCancel(s.claim.lease)
	j := &judging{ask: c.ask, hash: hash, rules: rules, cancel: cancel, done: make(chan struct{})}
	judge, policy, toolCall := s.engine.judges, s.rules.policy, c.ToolCall
	if s.confines(c) != "" {
		policy.Isolation = s.engine.sandbox
	}
	go func() {
		defer cancel()
		defer close(j.done)
		j.judgement = judge(policy, ctx, toolCall, hash, time.Now())
	}()
	return j
}

// judgeAtOnce is how long a session waits for a judgement before it turns to whatever else there is. An ordinary one takes less
// than a millisecond.
const judgeAtOnce = 50 * time.Millisecond

func (j *judging) soon() bool {
	wait := time.NewTimer(judgeAtOnce)
	defer wait.Stop()
	select {
	case <-j.done:
		return true
	case <-wait.C:
		return false
	}
}

func (s *Session) readRules() error {
	ctx, cancel := s.claim.reading()
	defer cancel()
	rules, err := s.engine.store.Rules(ctx, s.execution.Tenant, s.execution.ID)
	if err == nil {
		s.rules.policy.Rules = rules
	}
	return err
}
