package sessions

import (
	"context"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

// Session drives one execution. Only its goroutine uses it and its owners; exceptions say so.
type Session struct {
	core
	recorder      *recorder
	budget        *budget
	calls         *openCalls
	texts         *texts
	turn          *turnRun
	agent         *agent
	control       *control
	inbox         *inbox // what the agent has said
	rules         *rules
	clients       *clientCalls
	delegates     *delegates
	permissions   *permissions
	blocks        *blocks
	translator    *translator
	checkpointing *checkpointing
	rollbacks     *rollbacks
	parking       *parking
	recovery      *recovery
	recovers      bool  // from an earlier driver, or from the queue
	begun         bool  // the first turn began with the creation
	yields        bool  // as last reported to the dispatcher
	foreignWrites int64 // how often others had written when the execution was acquired
	exit          exit
}

// exit is how a session ends.
type exit int

const (
	exitEnded    exit = iota
	exitReleased      // the session releases the execution when its agent has returned
	exitParked        // nobody drives the execution any more
)

// state is a method of the session that stays in one state and returns the next; nil ends the session.
type state func() state

// NewSession returns a session that may write under a lease, as the driver with that epoch. It listens from here on, so it misses
// nothing between the first commit and its start. The caller calls either [Session.Run] or [Session.Discard].
func (e *Engine) NewSession(execution domain.Execution, epoch int64, lease context.Context) *Session {
	watcher := e.log.Watch(execution.ID)
	policy, _ := approvals.NewPolicy(execution.Request) // a policy that cannot be read refuses every call
	policy = policy.WrittenAt(execution.Created)
	policy.Servers = e.servers
	c := core{engine: e, execution: &execution, claim: claim{epoch: epoch, lease: lease}, progress: progressOf(execution), environment: e.environment(execution.Request)}
	s := &Session{core: c, turn: &turnRun{}, inbox: newInbox()}
	s.recorder = &recorder{
		core: c, clock: clock{wall: e.wallClock}, length: execution.LastSeq, agentSession: execution.AgentSession,
		masking: masking{masker: e.masker, streams: map[domain.TextKey]*secrets.Stream{}},
	}
	s.budget = &budget{core: c, recorder: s.recorder}
	s.calls = &openCalls{core: c, recorder: s.recorder, budget: s.budget, turn: s.turn, open: map[string]*call{}}
	s.texts = &texts{core: c, recorder: s.recorder, calls: s.calls}
	s.control = &control{core: c, watcher: watcher, seen: watcher.ForeignWrites(), quiet: time.Now()}
	s.rules = &rules{core: c, recorder: s.recorder, policy: policy, verdicts: make(chan struct{}, 1)}
	s.clients = &clientCalls{core: c, recorder: s.recorder, calls: s.calls}
	s.delegates = &delegates{core: c, recorder: s.recorder, calls: s.calls}
	s.checkpointing = &checkpointing{core: c, inbox: s.inbox}
	s.permissions = &permissions{
		core: c, recorder: s.recorder, budget: s.budget, calls: s.calls, clients: s.clients, children: s.delegates, rules: s.rules, control: s.control,
		turn: s.turn, inbox: s.inbox, decided: map[string]domain.Approval{}, checkpointing: s.checkpointing,
	}
	s.blocks = &blocks{core: c, recorder: s.recorder, budget: s.budget, calls: s.calls, turn: s.turn}
	s.rollbacks = &rollbacks{core: c, checkpointing: s.checkpointing, control: s.control, inbox: s.inbox}
	s.agent = &agent{
		core: c, recorder: s.recorder, calls: s.calls, blocks: s.blocks, rules: s.rules, turn: s.turn, inbox: s.inbox, checkpointing: s.checkpointing,
		loading: execution.Request.ResumeSession,
	}
	s.translator = &translator{
		core: c, recorder: s.recorder, budget: s.budget, calls: s.calls, texts: s.texts, permissions: s.permissions, blocks: s.blocks,
		agent: s.agent, turn: s.turn, inbox: s.inbox, checkpointing: s.checkpointing, rollbacks: s.rollbacks,
	}
	s.parking = &parking{
		core: c, recorder: s.recorder, calls: s.calls, permissions: s.permissions, control: s.control, agent: s.agent, turn: s.turn, delegates: s.delegates,
	}
	s.recovery = &recovery{
		core: c, recorder: s.recorder, calls: s.calls, clients: s.clients, permissions: s.permissions, blocks: s.blocks, control: s.control, delegates: s.delegates,
	}
	return s
}

// progressOf is the progress of an execution before its log is read.
func progressOf(execution domain.Execution) *domain.Progress {
	p := domain.NewProgress()
	p.Status, p.Cause, p.Usage = execution.Status, execution.Cause, execution.Usage
	p.Turn.Number, p.Turn.Rounds = execution.Turn, execution.Rounds
	return p
}

// Execution is the execution of the session, as it was when the session was made.
func (s *Session) Execution() domain.Execution { return *s.execution }

// Cancel ends the execution as soon as the session runs. The caller calls it before [Session.Run].
func (s *Session) Cancel(request *store.CancelRequest) { s.control.requests.Cancel = request }

// Recover continues the log of an earlier driver, or an execution from the queue. It takes the number of writes of others as it
// was when the execution was acquired. The caller calls it before [Session.Run].
func (s *Session) Recover(foreignWrites int64) {
	s.recovers, s.foreignWrites, s.control.quiet = true, foreignWrites, time.Time{}
	s.checkpointing.recovered = true
}

// Released tells, after the end of the session, whether the execution continues without it.
func (s *Session) Released() bool { return s.exit != exitEnded }
