package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
)

// How a call is judged: by the policy, with the rules as they are at that moment.

func (s *session) judge(d *draft, c *call) {
	if s.confines(c) == NoSandbox {
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
	if c.lost {
		judgement = approvals.Repeated(judgement, c.wished())
	} else {
		c.came = provenance(judgement, hash)
	}
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
	judgement := s.judgeByPolicy(c, hash)
	if s.hides(c.Action.Command) { // cut to a sentence, it might show half of it
		judgement.Reason = "The command holds a secret, so the reason is not shown; the rules decided as for any other."
	}
	return judgement, nil
}

func (s *session) judgeByPolicy(c *call, hash string) approvals.Judgement {
	judged := c.ToolCall
	judged.Action.Paths = withTargets(judged.Action.Paths)
	return s.policy.Judge(judged, hash, time.Now())
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

const noSandboxMessage = "Commands are not run on this server: nothing that could confine them works here. " +
	"Its operator can install bubblewrap or allow user namespaces; `signoff doctor` tells which sandbox works. " +
	"SIGNOFF_SANDBOX=off runs commands unconfined."
