package sessions

import (
	"context"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// The policy judges a call by the rules of that moment. It does so beside the session, which meanwhile goes on reading: a
// cancellation, a time-out or the end of its lease does not wait for it.

// Judge judges a call; see [approvals.Policy.Judge].
type Judge func(policy approvals.Policy, ctx context.Context, call domain.ToolCall, hash string, now time.Time) approvals.Judgement

// rules judges calls by the rules of the request and of people.
type rules struct {
	core
	recorder *recorder
	policy   approvals.Policy // with the rules as they were last read
	behind   bool             // an open question was not compared with the newest rules
	verdicts chan struct{}    // delivers when a late judgement is there
}

// judgement is the policy's judgement of a call, by the rules of this moment: a rule that was revoked a moment ago must not allow,
// and a rule that was made a moment ago must not be asked for again. If the judgement takes long it is not there yet, and the
// session is notified when it is.
func (r *rules) judgement(c *call, hash string) (judgement approvals.Judgement, judged bool, err error) {
	if c.ask.Kind == domain.ApprovalQuestion { // only a person can answer in words
		return approvals.JudgeQuestion(r.execution.Request), true, nil
	}
	if err := r.read(); err != nil {
		return approvals.Judgement{}, false, err
	}
	if err := r.readPin(c); err != nil {
		return approvals.Judgement{}, false, err
	}
	if judgement, judged = r.judgeByPolicy(c, hash); !judged {
		return approvals.Judgement{}, false, nil
	}
	if r.recorder.hides(c.Action.Command) { // a shortened reason might show half of it
		judgement.Reason = "The command holds a secret, so the reason is not shown; the rules decided as for any other."
	}
	return judgement, true, nil
}

// judging is the judgement of one call, under way in a goroutine of its own.
type judging struct {
	ask       *ask
	hash      string
	basis     []string // what it depends on: ids of rules, and the pin
	cancel    context.CancelFunc
	done      chan struct{}
	judgement approvals.Judgement // set when done closes
}

// judgeByPolicy continues the judgement that is under way, if it is of the same call by the same rules.
func (r *rules) judgeByPolicy(c *call, hash string) (approvals.Judgement, bool) {
	basis := r.basis(c)
	if j := c.judging; j != nil && (j.ask != c.ask || j.hash != hash || !slices.Equal(j.basis, basis)) {
		j.cancel()
		c.judging = nil
	}
	if c.judging == nil {
		c.judging = r.begin(c, hash, basis)
	}
	j := c.judging
	if !j.soon() {
		go func() {
			<-j.done
			notify(r.verdicts)
		}()
		return approvals.Judgement{}, false
	}
	c.judging, c.judgedBy = nil, basis
	return j.judgement, true
}

// basis names what the judgement of a call depends on besides the call: the rules, and the pin of its tool.
func (r *rules) basis(c *call) []string {
	var all []string
	for _, rule := range r.policy.Rules {
		all = append(all, rule.ID)
	}
	if c.pin != nil {
		all = append(all, "pin "+c.pin.Hash)
	}
	return all
}

func (r *rules) begin(c *call, hash string, basis []string) *judging {
	ctx, cancel := context.WithCancel(r.claim.lease)
	j := &judging{ask: c.ask, hash: hash, basis: basis, cancel: cancel, done: make(chan struct{})}
	judge, policy, toolCall := r.engine.judges, r.policy, c.ToolCall
	policy.Pin = c.pin
	if policy.Environment = r.environmentOf(c); policy.Environment == nil && r.environment.now() != nil {
		policy = policy.Outside()
	}
	if r.confinedBy(c) != "" {
		policy.Isolation = IsolationIn(r.engine.sandbox, r.environment.Environment)
	}
	go func() {
		defer cancel()
		defer close(j.done)
		j.judgement = judge(policy, ctx, toolCall, hash, time.Now())
	}()
	return j
}

// judgeAtOnce is how long a session waits for a judgement before it does something else. Most take less than a millisecond.
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

func (r *rules) read() error {
	ctx, cancel := r.claim.reading()
	defer cancel()
	rules, err := r.engine.store.Rules(ctx, r.execution.Tenant, r.execution.ID)
	if err == nil {
		r.policy.Rules = rules
	}
	return err
}
