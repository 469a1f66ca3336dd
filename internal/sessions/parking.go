package sessions

import (
	"time"

	"signoff/internal/domain"
)

// parking tells whether an execution can be parked, and until when.
type parking struct {
	core
	recorder    *recorder
	calls       *openCalls
	permissions *permissions
	control     *control
	agent       *agent
	turn        *turnRun
	delegates   *delegates
}

// timer delivers when the session has been quiet for long enough; never if it cannot be parked, or would wake at once.
func (p *parking) timer() (<-chan time.Time, func() bool) {
	if !p.possible() || p.wakesSoon() {
		return nil, func() bool { return false }
	}
	quiet := p.engine.parkAfter
	if p.awaitsRetry() && !p.keptRunning() { // the length of the wait is known
		quiet = 0
	}
	if p.waitsInTree() {
		quiet = min(quiet, treeQuiet)
	}
	timer := time.NewTimer(time.Until(p.control.quiet.Add(quiet)))
	return timer.C, timer.Stop
}

// treeQuiet is how long a session stays in memory that only waits for its children or its parent. A quick answer saves a second reading of the log, and of
// many waiting sessions few hold memory.
const treeQuiet = time.Second

// waitsInTree tells whether the execution only waits for its children, its parent or a person.
func (p *parking) waitsInTree() bool {
	switch {
	case p.progress.Status == domain.StatusIdle:
		return p.execution.Request.Parent != nil || p.delegates.anyChild(live)
	case !p.progress.Turn.Open || p.turn.result != nil || p.calls.any((*call).runsHere) || p.calls.any((*call).awaitsSlot):
		return false
	default:
		return p.calls.any((*call).awaitsDelegate) && !p.delegates.anyReady()
	}
}

// keptRunning tells whether the agent has something in its process that the log cannot bring back.
func (p *parking) keptRunning() bool {
	agent, says := p.agent.open.(domain.Parkable)
	return says && !agent.Parkable()
}

// possible tells whether another session could continue from the log alone, without anybody noticing. The questions of an external
// agent live in its process, and so does a session that no other process can load.
func (p *parking) possible() bool {
	switch {
	case p.control.requests.Rollback != nil:
		return false
	case p.progress.Status == domain.StatusInterrupted:
		return true
	case p.progress.Status == domain.StatusIdle && p.delegates.returned():
		return false // they open the next turn
	case p.progress.Status == domain.StatusIdle:
		return !p.external() || p.agent.open == nil || p.recorder.agentSession != "" || p.progress.Turn.Number == 0
	case !p.progress.Turn.Open || p.external() || p.turn.result != nil || p.calls.any((*call).runsHere) || p.calls.any((*call).awaitsSlot):
		return false
	default: // an agent that has not asked again yet may find its question answered
		waits := p.calls.any((*call).waits) || p.awaitsRetry()
		return waits && !p.calls.any(func(c *call) bool { return p.agent.open != nil && c.waits() && c.ask == nil })
	}
}

// wakesSoon tells whether the execution would wake too soon to be parked.
func (p *parking) wakesSoon() bool {
	soon := p.engine.parkAfter
	if p.awaitsRetry() {
		soon = min(soon, shortRetry)
	}
	wakes := p.wakes()
	return wakes != nil && time.Until(*wakes) < soon
}

// wakes is the time at which the session has to act by itself; nil: never.
func (p *parking) wakes() *time.Time {
	resting := func(seconds int) *time.Time {
		if seconds == 0 {
			return nil
		}
		at := p.progress.Since.Add(time.Duration(seconds) * time.Second)
		return &at
	}
	switch p.progress.Status {
	case domain.StatusIdle:
		if p.delegates.anyChild(live) {
			return nil
		}
		return resting(p.execution.Request.IdleTimeoutSeconds)
	case domain.StatusInterrupted:
		return resting(p.choosingSeconds())
	}
	if p.awaitsRetry() {
		at := p.progress.RetryAt()
		return &at
	}
	return p.calls.firstExpiry()
}

// onlyWaits tells whether an execution that is recovered needs no agent now: everything open in its turn waits for somebody, or
// for the time at which a request to the model is repeated.
func (p *parking) onlyWaits() bool {
	waits := p.progress.Status == domain.StatusPendingToolApproval || p.progress.Status == domain.StatusExecutingTool || p.awaitsRetry()
	if !waits || p.delegates.anyReady() || !p.possible() || p.control.wanted() || len(p.permissions.decided) > 0 {
		return false
	}
	if p.calls.any(func(c *call) bool { return c.approval != nil && p.changedFor(c, *c.approval) }) {
		return false // the agent asks again, and the person is shown the present environment
	}
	return !p.wakesSoon() && !p.calls.any(func(c *call) bool { return !c.waits() && c.generation() == 0 })
}

// shortRetry is a wait for a request to the model that is too short for parking, since the log would be read again.
const shortRetry = 10 * time.Second
