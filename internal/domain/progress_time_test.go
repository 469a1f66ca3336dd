package domain_test

import (
	"testing"
	"time"

	"signoff/internal/domain"
)

// at gives events of one change their time, in seconds.
func at(second int, payloads ...domain.Payload) []domain.Event {
	events := log(payloads...)
	for i := range events {
		events[i].Time = time.Unix(int64(second), 0)
	}
	return events
}

func retryAt(second int64) domain.ModelRetrying {
	return domain.ModelRetrying{Attempt: 1, At: time.Unix(second, 0)}
}

func changed(from, to domain.Status) domain.StateChanged {
	return domain.StateChanged{From: from, To: to}
}

func TestActiveTimeOfATurn(t *testing.T) {
	const (
		initializing = domain.StatusInitializing
		waiting      = domain.StatusWaiting
		streaming    = domain.StatusStreaming
		asking       = domain.StatusPendingToolApproval
		executing    = domain.StatusExecutingTool
		interrupted  = domain.StatusInterrupted
	)
	begun := at(100, domain.TurnStarted{Turn: 1}, changed(initializing, waiting))
	started := func(id string) domain.ToolCallStarted { return domain.ToolCallStarted{ToolCallID: id} }
	byClient := domain.ToolCallStarted{ToolCallID: "client", Awaits: domain.AwaitsClient}
	done := func(id string) domain.ToolCallCompleted { return domain.ToolCallCompleted{ToolCallID: id} }
	said := domain.MessageDelta{MessageID: "m", Text: "a"}
	cutOff := domain.MessageCompleted{MessageID: "m", Interrupted: true}
	for name, test := range map[string]struct {
		log  [][]domain.Event
		want int
	}{
		"waiting and streaming count": {[][]domain.Event{at(110, changed(waiting, streaming), said), at(115, said)}, 15},
		"opening the agent does not":  {[][]domain.Event{at(110, changed(waiting, initializing)), at(150, changed(initializing, waiting)), at(152, said)}, 2},
		"an agent that is opened again": {[][]domain.Event{at(110, domain.StateChanged{From: waiting, To: initializing, Reason: domain.ReasonAgentExited}),
			at(150, changed(initializing, waiting)), at(152, said)}, 12},
		"a provider that fails":        {[][]domain.Event{at(110, domain.StateChanged{From: waiting, To: interrupted, Cause: domain.CauseProvider})}, 10},
		"a person's time does not":     {[][]domain.Event{at(105, changed(waiting, asking)), at(900, changed(asking, waiting)), at(901, said)}, 6},
		"a call that runs here counts": {[][]domain.Event{at(105, started("c"), changed(waiting, executing)), at(125, done("c"), changed(executing, waiting))}, 25},
		"the client's time does not":   {[][]domain.Event{at(105, byClient, changed(waiting, executing)), at(900, done("client"), changed(executing, waiting))}, 5},
		"of two calls the one here":    {[][]domain.Event{at(105, byClient, started("c"), changed(waiting, executing)), at(110, done("c")), at(900, done("client"))}, 10},
		"nor a call that is lost":      {[][]domain.Event{at(105, started("c"), changed(waiting, executing)), at(300, outcomeAsked("c", "u")), at(900, said)}, 200},
		"nor a call that is paused": {[][]domain.Event{at(105, started("c"), changed(waiting, executing)),
			at(125, domain.ApprovalRequested{ToolCallID: "c", Kind: domain.ApprovalQuestion, Repeats: true}), at(900, said)}, 25},
		"without a driver none passes":  {[][]domain.Event{at(110, changed(waiting, streaming), said), at(900, changed(streaming, initializing), cutOff), at(905, changed(initializing, waiting)), at(907, said)}, 12},
		"nor before somebody is asked":  {[][]domain.Event{at(110, changed(waiting, streaming), said), at(900, cutOff, changed(streaming, interrupted))}, 10},
		"nor while a call has no owner": {[][]domain.Event{at(105, started("c"), changed(waiting, executing)), at(900, done("c"), changed(executing, interrupted))}, 5},
		"nor until somebody has prompted": {[][]domain.Event{at(110, changed(waiting, streaming), said), at(400, domain.PromptQueued{Text: "more"}),
			at(900, changed(streaming, initializing))}, 10},
		"a prompt does not stop the clock": {[][]domain.Event{at(120, domain.PromptQueued{Text: "more"}), at(130, said)}, 30},
		"whose sender's clock is ahead":    {[][]domain.Event{at(700, domain.PromptQueued{Text: "more"}), at(130, said)}, 30},
		"the next driver's is behind": {[][]domain.Event{at(110, said), at(50, changed(waiting, initializing)), at(55, changed(initializing, waiting)),
			at(58, said)}, 13},
		"what was parked goes on": {[][]domain.Event{at(105, changed(waiting, asking)), at(900, domain.ApprovalResolved{ApprovalID: "a"}),
			at(901, changed(asking, initializing)), at(905, changed(initializing, waiting)), at(909, said)}, 9},
		"the wait for a repetition does not": {[][]domain.Event{at(110, retryAt(700)), at(705, said)}, 15},
		"also where it was parked": {[][]domain.Event{at(110, retryAt(700)), at(701, changed(waiting, initializing)), at(704, changed(initializing, waiting)),
			at(706, said)}, 12},
		"nor each of several":       {[][]domain.Event{at(110, retryAt(120)), at(121, retryAt(200)), at(203, said)}, 14},
		"a cut wait passes no time": {[][]domain.Event{at(110, retryAt(700)), at(300, domain.UsageUpdated{}), at(400, changed(waiting, initializing))}, 10},
		"an older log has no time":  {[][]domain.Event{at(110, domain.ModelRetrying{Attempt: 1}), at(120, said)}, 20},
		"each turn has its own": {[][]domain.Event{at(150, domain.TurnEnded{Turn: 1}, changed(waiting, domain.StatusIdle)),
			at(300, domain.TurnStarted{Turn: 2}, changed(domain.StatusIdle, waiting)), at(303, said)}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			log := begun
			for _, change := range test.log {
				log = append(log[:len(log):len(log)], change...)
			}
			c, err := domain.Fold(log)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := c.ActiveTime(log[len(log)-1].Time), time.Duration(test.want)*time.Second; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestActiveTimeOfTurns: the time between two turns is nobody's, and a turn that lost its driver counts as it does for itself.
func TestActiveTimeOfTurns(t *testing.T) {
	const waiting, idle, initializing = domain.StatusWaiting, domain.StatusIdle, domain.StatusInitializing
	said := domain.MessageDelta{MessageID: "m", Text: "a"}
	p := domain.NewProgress()
	for _, change := range [][]domain.Event{
		at(100, domain.TurnStarted{Turn: 1}, changed(initializing, waiting)), at(130, domain.TurnEnded{Turn: 1}, changed(waiting, idle)),
		at(500, domain.TurnStarted{Turn: 2}, changed(idle, waiting)), at(507, said), at(900, changed(waiting, initializing)),
		at(901, changed(initializing, waiting)), at(905, domain.TurnEnded{Turn: 2}, changed(waiting, idle)),
		at(990, domain.TurnStarted{Turn: 3}, changed(idle, waiting)), at(992, said),
	} {
		for _, event := range change {
			if err := p.Apply(event); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := p.ActiveTimeOfTurns(time.Unix(995, 0)); got != (30+7+4+5)*time.Second {
		t.Errorf("%s in all turns", got)
	}
	if got := p.ActiveTime(time.Unix(995, 0)); got != 5*time.Second {
		t.Errorf("%s in this turn", got)
	}
}

func TestWarningsOfABudgetAreKnown(t *testing.T) {
	c, err := domain.Fold(log(domain.TurnStarted{Turn: 1}, domain.BudgetWarned{Limit: "tokens"}, domain.TurnStarted{Turn: 2}))
	if err != nil || !c.Warned["tokens"] || c.Warned["cost"] {
		t.Errorf("%v, %v", c.Warned, err)
	}
}

// TestTheRequestThatIsRepeated is known from its first failure until it is answered or given up.
func TestTheRequestThatIsRepeated(t *testing.T) {
	failed := func(attempt int) domain.ModelRetrying {
		return domain.ModelRetrying{Model: "m", Attempt: attempt, At: time.Unix(700, 0).UTC(), Until: time.Unix(900, 0).UTC()}
	}
	switched := domain.ModelSwitched{From: "l", To: "m"}
	half := domain.MessageCompleted{MessageID: "m1", Interrupted: true}
	begun := domain.TurnStarted{Turn: 1}
	for name, test := range map[string]struct {
		log     []domain.Payload
		attempt int // 0: none
		lost    int
	}{
		"none has failed":          {[]domain.Payload{begun}, 0, 0},
		"the newest counts":        {[]domain.Payload{begun, failed(1), half, failed(2)}, 2, 0},
		"with another model":       {[]domain.Payload{begun, failed(4), switched, failed(1)}, 1, 1},
		"another model was asked":  {[]domain.Payload{begun, failed(4), switched}, 0, 0},
		"it was answered":          {[]domain.Payload{begun, failed(1), domain.MessageCompleted{MessageID: "m1"}}, 0, 0},
		"it was answered by calls": {[]domain.Payload{begun, failed(1), domain.ToolCallRequested{ToolCallID: "c", MessageID: "m1"}}, 0, 0},
		"half an answer is none":   {[]domain.Payload{begun, failed(1), half}, 1, 0},
		"somebody resumes it": {[]domain.Payload{begun, failed(9), domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusInterrupted},
			domain.StateChanged{From: domain.StatusInterrupted, To: domain.StatusInitializing}}, 0, 0},
		"a restart forgets nothing": {[]domain.Payload{begun, failed(3), domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusInitializing}}, 3, 0},
		"each turn has its own":     {[]domain.Payload{begun, switched, failed(3), domain.TurnEnded{Turn: 1}, domain.TurnStarted{Turn: 2}, failed(1)}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := domain.Fold(log(test.log...))
			if err != nil {
				t.Fatal(err)
			}
			retrying := c.Retrying()
			switch {
			case test.attempt == 0 && retrying != nil:
				t.Errorf("%+v", retrying)
			case test.attempt > 0 && (retrying == nil || retrying.ModelRetrying != failed(test.attempt) || len(retrying.Switched) != test.lost):
				t.Errorf("%+v", retrying)
			}
		})
	}
}
