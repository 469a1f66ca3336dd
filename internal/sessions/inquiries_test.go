package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// Questions that the MCP server of a call asks before it answers the call.

const form = `{"message":"Which colour?","schema":{"type":"object","properties":{"colour":{"type":"string"}}}}`

// mcpCall is a call for the tool of an MCP server.
func mcpCall(id string) domain.ToolCall {
	return domain.ToolCall{
		ID: id, Tool: "mcp__paint__mix", Version: "1", Class: domain.ClassMCP, Arguments: json.RawMessage(`{"can":1}`), Summary: "Mix a colour",
		MCP: &domain.MCPTool{Server: "paint", Tool: "mix", Definition: "d1"}, Action: domain.Action{Server: "paint"},
	}
}

// inquirer is an agent with one call, whose MCP server asks so many questions before it answers. After a restart it goes on as our own agent does.
type inquirer struct {
	call      domain.ToolCall
	questions int
	within    bool // the server asks on the connection of the open call

	prompts   atomic.Int32
	mu        sync.Mutex
	begun     int             // how often the call was sent
	repeated  int             // how often it was repeated
	delivered map[string]int  // how often the call was repeated, by what it was repeated with
	answers   []domain.Answer // of each repetition
}

// sent notes a request to the server.
func (a *inquirer) sent(with *domain.Continuation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if with == nil {
		a.begun++
		return
	}
	if a.delivered == nil {
		a.delivered = map[string]int{}
	}
	a.delivered[string(with.Repeat)]++
	if !a.within {
		a.repeated++
	}
	a.answers = append(a.answers, with.Answer)
}

func (a *inquirer) play(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	a.prompts.Add(1)
	switch last := t.Prompt.History[len(t.Prompt.History)-1]; last.Role {
	case domain.RoleUser:
		if err := t.Host.Emit(ctx, domain.ToolCallRequested{
			ToolCallID: a.call.ID, MessageID: "m1", Tool: a.call.Tool, Class: a.call.Class, Arguments: a.call.Arguments, Summary: a.call.Summary, MCP: a.call.MCP,
		}); err != nil {
			return "", err
		}
	case domain.RoleTool:
		return domain.StopEndTurn, t.Say("m2", "told: "+last.Text)
	}
	told, err := a.use(ctx, t)
	if err != nil {
		return "", err
	}
	return domain.StopEndTurn, t.Say("m2", "told: "+told)
}

// round is what a repetition says of the state of the server.
type round struct {
	Asked int    `json:"asked"`
	ID    string `json:"id"`
}

func (a *inquirer) use(ctx context.Context, t *sessionstest.Turn) (string, error) {
	grant, err := t.Host.Authorize(ctx, a.call)
	if err != nil || !grant.Allowed {
		return grant.Message, err
	}
	var at round
	if grant.Continues != nil {
		if err := json.Unmarshal(grant.Continues.Repeat, &at); err != nil {
			return "", err
		}
	}
	a.sent(grant.Continues)
	for at.Asked < a.questions {
		at = round{at.Asked + 1, approvals.NewID()}
		inquiry := domain.Inquiry{Question: domain.Question{Call: a.call, Form: json.RawMessage(form)}}
		if !a.within {
			inquiry.Repeat = domain.Encode(at)
		}
		answer, err := t.Host.Inquire(ctx, inquiry)
		switch {
		case domain.CodeOf(err) != domain.CodeInternal && err != nil:
			return a.complete(ctx, t, domain.ToolCallCompleted{Outcome: domain.OutcomeFailed, Output: domain.FailureOf(err).Message, Error: new(domain.FailureOf(err))})
		case err != nil:
			return "", err
		case !a.within && answer.Status != domain.ApprovalApproved && answer.Status != domain.ApprovalDenied:
			return answer.Message, nil
		}
		a.sent(&domain.Continuation{Repeat: domain.Encode(at), Answer: answer})
	}
	return a.complete(ctx, t, domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded, Output: "mixed"})
}

func (a *inquirer) complete(ctx context.Context, t *sessionstest.Turn, done domain.ToolCallCompleted) (string, error) {
	done.ToolCallID = a.call.ID
	return done.Output, t.Host.Emit(ctx, done)
}

// once holds that the server got each repetition once, and returns how many there were.
func (a *inquirer) once(t *testing.T) int {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for repeat, times := range a.delivered {
		if times != 1 {
			t.Errorf("%s was delivered %d times", repeat, times)
		}
	}
	return len(a.delivered)
}

func colour(name string) func(*approvals.Answer) {
	return func(a *approvals.Answer) { a.Answer = json.RawMessage(`{"colour":"` + name + `"}`) }
}

// asked starts an execution, allows its call, and returns the question of the server.
func (w *world) asked(change ...func(*domain.Request)) (domain.ExecutionID, domain.Approval) {
	w.t.Helper()
	id := w.start(change...)
	w.decide(w.approvals(id, 1)[0])
	return id, w.approvals(id, 2)[1]
}

func TestAQuestionPausesItsCall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &inquirer{call: mcpCall("c1"), questions: 2}
		w := newWorld(t, s, agent.play, asTheLogTells(t, s))
		id, question := w.asked()
		w.reach(id, domain.StatusPendingToolApproval)
		if question.Kind != domain.ApprovalQuestion || string(question.Question) != form || question.Call.ID != "c1" || len(question.RememberOptions) != 0 {
			t.Errorf("%+v", question)
		}
		if open := w.folded(id).Calls["c1"]; open.Running || !open.Paused || open.Call.MCP == nil {
			t.Errorf("%+v", open)
		}
		w.decide(question, colour("red"))
		further := w.approvals(id, 3)[2]
		w.decide(further, deny("ask somebody else"))
		if end := w.ended(id); end.Output.Text != "told: mixed" {
			t.Errorf("%+v", end.Output)
		}
		log := w.events(id)
		var under []domain.ApprovalID
		for _, started := range payloads[domain.ToolCallStarted](t, log) {
			under = append(under, started.ApprovalID)
			if started.Definition != "d1" || started.AllowedBy != string(approvals.ByDecision) {
				t.Errorf("%+v", started)
			}
		}
		if want := []domain.ApprovalID{w.approvals(id, 1)[0].ID, question.ID, further.ID}; !slices.Equal(under, want) {
			t.Errorf("it started under %v, and not %v", under, want)
		}
		if n := agent.once(t); n != 2 || agent.begun != 1 {
			t.Errorf("begun %d times, repeated %d times", agent.begun, n)
		}
		first, second := agent.answers[0], agent.answers[1]
		if first.Status != domain.ApprovalApproved || string(first.Content) != `{"colour":"red"}` {
			t.Errorf("%+v", first)
		}
		if second.Status != domain.ApprovalDenied || !strings.Contains(second.Message, "ask somebody else") {
			t.Errorf("%+v", second)
		}
		record := w.recordOf(id, "c1")
		if record.ArgumentsHash != question.ArgumentsHash || record.DecidedBy != string(approvals.ByDecision) || strings.Contains(record.Reason, "somebody else") {
			t.Errorf("the call is on record as %+v", record)
		}
	})
}

// folded is what the log of an execution amounts to.
func (w *world) folded(id domain.ExecutionID) *domain.Progress {
	w.t.Helper()
	progress, err := domain.Fold(w.events(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return progress
}

// A question that was asked before a kill is answered after it, and the server gets the answer once.
func TestAQuestionOutlivesItsServer(t *testing.T) {
	for name, answer := range map[string]func(*approvals.Answer){"yes": colour("red"), "no": deny("never")} {
		for _, late := range []bool{false, true} { // it is answered before the next server has begun, or after
			t.Run(fmt.Sprint(name, late), func(t *testing.T) {
				storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
					agent := &inquirer{call: mcpCall("c1"), questions: 1}
					w := newWorld(t, s, agent.play, asTheLogTells(t, s))
					id, question := w.asked()
					w.killed()
					if !late {
						decideWithout(t, s, question, decision(question, answer))
					}
					next := newWorld(t, s, agent.play, asTheLogTells(t, s))
					if late {
						next.reach(id, domain.StatusPendingToolApproval)
						next.decide(question, answer)
					}
					if end := next.ended(id); end.Output.Text != "told: mixed" || len(next.approvals(id, 2)) != 2 {
						t.Errorf("%+v", end.Output)
					}
					if n := agent.once(t); n != 1 || agent.begun != 1 {
						t.Errorf("begun %d times, repeated %d times", agent.begun, n)
					}
					if got := agent.answers[0]; name == "yes" && string(got.Content) != `{"colour":"red"}` || name == "no" && !strings.Contains(got.Message, "never") {
						t.Errorf("%+v", got)
					}
				})
			})
		}
	}
}

// decideWithout answers a question while no server drives anything.
func decideWithout(t *testing.T, s *store.Store, question domain.Approval, answer approvals.Answer) {
	t.Helper()
	service := approvals.NewService(s, direct{s}, sessionstest.AnyTool{})
	if _, err := service.Decide(t.Context(), tenant, question.ID, answer); err != nil {
		t.Fatal(err)
	}
}

// direct writes to the store itself.
type direct struct{ *store.Store }

func (d direct) Commit(ctx context.Context, change store.Change) (store.Result, error) {
	results, err := d.Store.Commit(ctx, []store.Change{change})
	if err != nil {
		return store.Result{}, err
	}
	return results[0], results[0].Err
}

func decision(approval domain.Approval, change func(*approvals.Answer)) approvals.Answer {
	answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice}
	change(&answer)
	return answer
}

// While it waits for the answer, an execution needs no server.
func TestAQuestionIsParked(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &inquirer{call: mcpCall("c1"), questions: 2}
		w := newWorld(t, s, agent.play, parks, asTheLogTells(t, s))
		id := w.start()
		for i := range 3 {
			question := w.approvals(id, i+1)[i]
			w.parked(id)
			if i > 0 { // it is parked again by a server that only looks
				w.killed()
				w = newWorld(t, s, agent.play, parks, asTheLogTells(t, s))
				w.rule(domain.Deny, domain.Matcher{Tool: "mcp__paint__mix"}) // a rule answers no question
				w.parked(id)
			}
			change := func(*approvals.Answer) {}
			if i > 0 {
				change = colour("red")
			}
			w.decide(question, change)
		}
		if end := w.ended(id); end.Output.Text != "told: mixed" {
			t.Errorf("%+v", end.Output)
		}
		if n := agent.once(t); n != 2 || agent.begun != 1 {
			t.Errorf("begun %d times, repeated %d times", agent.begun, n)
		}
	})
}

// A server that finds such an execution parks it again without its agent: neither a new rule nor another definition of the environment says anything about
// the question.
func TestAQuestionIsParkedAgain(t *testing.T) {
	s := storetest.SQLite(t)
	agent := &inquirer{call: mcpCall("c1"), questions: 1}
	w := newWorld(t, s, agent.play, knowing(defined()))
	id, question := w.asked(defined().chosen("machine"))
	w.rule(domain.Deny, domain.Matcher{Tool: "mcp__paint__mix"})
	w.killed()
	next := newWorld(t, s, agent.play, parks, knowing(defined(hidesMore)))
	next.parked(id)
	if n := agent.prompts.Load(); n != 1 {
		t.Errorf("the agent was prompted %d times", n)
	}
	next.decide(question, colour("red"))
	if end := next.ended(id); end.Output.Text != "told: mixed" || agent.once(t) != 1 || agent.begun != 1 {
		t.Errorf("%+v, begun %d times", end.Output, agent.begun)
	}
}

func TestAQuestionExpires(t *testing.T) {
	for _, change := range []func(*dispatch.Config){func(*dispatch.Config) {}, parks} {
		agent := &inquirer{call: mcpCall("c1"), questions: 1}
		w := newWorld(t, storetest.SQLite(t), agent.play, change)
		id, _ := w.asked(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
		end, outcome := w.ended(id), w.outcomeOf(id)
		if outcome.Outcome != domain.OutcomeExpired || outcome.Error.Code != domain.CodeApprovalExpired || end.Output.Text != "told: "+outcome.Output {
			t.Errorf("%+v, %+v", outcome, end.Output)
		}
		if executed := end.Output.ToolCallsExecuted[0]; !executed.Approved || agent.once(t) != 0 {
			t.Errorf("%+v", executed)
		}
		if record := w.recordOf(id, "c1"); record.DecidedBy != string(approvals.ByExpiry) {
			t.Errorf("%+v", record)
		}
	}
}

// TestAQuestionEndsWithItsExecution: a call that waits runs nothing, and one whose question came on its open connection may have done anything.
func TestAQuestionEndsWithItsExecution(t *testing.T) {
	for within, want := range map[bool]domain.Outcome{false: domain.OutcomeCancelled, true: domain.OutcomeUnknown} {
		agent := &inquirer{call: mcpCall("c1"), questions: 1, within: within}
		w := newWorld(t, storetest.SQLite(t), agent.play)
		id, _ := w.asked()
		if end := w.cancel(id); end.Status != domain.StatusCancelled || agent.once(t) != 0 {
			t.Errorf("%+v", end)
		}
		if outcome := w.outcomeOf(id); outcome.Outcome != want {
			t.Errorf("within the call %v: %+v", within, outcome)
		}
		if status := w.approvals(id, 2)[1].Status; status != domain.ApprovalCancelled {
			t.Errorf("the question is %s", status)
		}
		if record := w.recordOf(id, "c1"); record.DecidedBy != string(approvals.ByDecision) { // it has begun, and was allowed to
			t.Errorf("%+v", record)
		}
	}
}

// A prompt that interrupts does not wait for the answer.
func TestAPromptInterruptsAQuestion(t *testing.T) {
	for within, want := range map[bool]domain.Outcome{false: domain.OutcomeCancelled, true: domain.OutcomeUnknown} {
		agent := &inquirer{call: mcpCall("c1"), questions: 1, within: within}
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if turn.Prompt.Turn == 2 {
				return domain.StopEndTurn, turn.Say("m9", "something else")
			}
			return agent.play(ctx, turn)
		})
		id, question := w.asked()
		if _, err := w.prompt(id, "something else", domain.WhenBusyInterrupt); err != nil {
			t.Fatal(err)
		}
		if end := w.ended(id); end.Output.Text != "something else" || w.outcomeOf(id).Outcome != want || agent.once(t) != 0 {
			t.Errorf("%+v, %+v", end.Output, w.outcomeOf(id))
		}
		if left := w.approvals(id, 2)[1]; left.ID != question.ID || left.Status != domain.ApprovalCancelled {
			t.Errorf("the question is %s", left.Status)
		}
	}
}

// A kill after the further start is a lost call like any other. Tried again, the call begins anew.
func TestAnAnswerMayBeLost(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &inquirer{call: mcpCall("c1"), questions: 1}
		gone := make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			turn.Host = deafHost{turn.Host, gone}
			return agent.play(ctx, turn)
		})
		id, question := w.asked()
		w.decide(question, colour("red"))
		<-gone
		w.killed()
		next := newWorld(t, s, agent.play, asTheLogTells(t, s))
		lost := next.approvals(id, 3)[2]
		if lost.Kind != domain.ApprovalUnknownOutcome {
			t.Fatalf("%+v", lost)
		}
		next.decide(lost, resolve(domain.ResolutionRetry, ""))
		next.decide(next.approvals(id, 4)[3])
		next.decide(next.approvals(id, 5)[4], colour("blue"))
		if end := next.ended(id); end.Output.Text != "told: mixed" {
			t.Errorf("%+v", end.Output)
		}
		if n := agent.once(t); n != 1 || agent.begun != 2 || string(agent.answers[0].Content) != `{"colour":"blue"}` {
			t.Errorf("begun %d times, repeated %d times", agent.begun, n)
		}
	})
}

// deafHost passes on no answer to a question.
type deafHost struct {
	domain.Host
	gone chan struct{}
}

func (h deafHost) Inquire(ctx context.Context, inquiry domain.Inquiry) (domain.Answer, error) {
	if _, err := h.Host.Inquire(ctx, inquiry); err != nil {
		return domain.Answer{}, err
	}
	close(h.gone)
	<-ctx.Done()
	return domain.Answer{}, context.Cause(ctx)
}

// The answer to a question about one definition of a tool is not sent to another one.
func TestAnAnswerIsForOneDefinition(t *testing.T) {
	s := storetest.SQLite(t)
	agent := &inquirer{call: mcpCall("c1"), questions: 1}
	w := newWorld(t, s, agent.play)
	id, question := w.asked()
	w.killed()
	agent.call.MCP = &domain.MCPTool{Server: "paint", Tool: "mix", Definition: "d2"}
	next := newWorld(t, s, agent.play)
	next.decide(question, colour("red"))
	next.ended(id)
	if outcome := next.outcomeOf(id); outcome.Outcome != domain.OutcomeFailed || outcome.Error.Code != domain.CodeArgumentsHash || agent.once(t) != 0 {
		t.Errorf("%+v", outcome)
	}
}

// A server that shuts down leaves the question to the next one.
func TestAQuestionIsHandedOff(t *testing.T) {
	s := storetest.SQLite(t)
	agent := &inquirer{call: mcpCall("c1"), questions: 1}
	w := newWorld(t, s, agent.play)
	id, question := w.asked()
	w.drain()
	next := newWorld(t, s, agent.play, asTheLogTells(t, s))
	next.decide(question, colour("red"))
	if end := next.ended(id); end.Output.Text != "told: mixed" || agent.once(t) != 1 || agent.begun != 1 {
		t.Errorf("%+v, begun %d times", end.Output, agent.begun)
	}
}

// A question that comes while the server shuts down is kept for the next one.
func TestAQuestionComesDuringADrain(t *testing.T) {
	s := storetest.SQLite(t)
	agent := &inquirer{call: mcpCall("c1"), questions: 1}
	running, draining := make(chan struct{}), make(chan struct{})
	w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		turn.Host = lateHost{turn.Host, running, draining}
		return agent.play(ctx, turn)
	}, func(c *dispatch.Config) { c.DrainGrace = time.Minute })
	id := w.start()
	w.decide(w.approvals(id, 1)[0])
	<-running
	go func() {
		<-w.manager.Draining()
		close(draining)
	}()
	w.drain()
	next := newWorld(t, s, agent.play)
	question := next.approvals(id, 2)[1]
	if question.Kind != domain.ApprovalQuestion {
		t.Fatalf("%+v", question)
	}
	next.decide(question, colour("red"))
	if end := next.ended(id); end.Output.Text != "told: mixed" || agent.once(t) != 1 || agent.begun != 1 {
		t.Errorf("%+v, begun %d times", end.Output, agent.begun)
	}
}

// lateHost asks nothing until it may.
type lateHost struct {
	domain.Host
	running, may chan struct{}
}

func (h lateHost) Inquire(ctx context.Context, inquiry domain.Inquiry) (domain.Answer, error) {
	close(h.running)
	<-h.may
	return h.Host.Inquire(ctx, inquiry)
}

// A server that asks within an open call gets its answer there, and the call runs on.
func TestAQuestionWithinACall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &inquirer{call: mcpCall("c1"), questions: 2, within: true}
		w := newWorld(t, s, agent.play, parks, asTheLogTells(t, s))
		id, question := w.asked()
		w.reach(id, domain.StatusPendingToolApproval)
		if open := w.folded(id).Calls["c1"]; !open.Running || open.Paused {
			t.Errorf("%+v", open)
		}
		time.Sleep(20 * time.Millisecond) // it would be parked by now
		if w.manager.Live() != 1 {
			t.Error("the call is open, and nobody drives its execution")
		}
		w.decide(question, colour("red"))
		w.decide(w.approvals(id, 3)[2], deny("no"))
		if end := w.ended(id); end.Output.Text != "told: mixed" {
			t.Errorf("%+v", end.Output)
		}
		if starts := payloads[domain.ToolCallStarted](t, w.events(id)); len(starts) != 1 || agent.answers[1].Status != domain.ApprovalDenied {
			t.Errorf("%d starts, %+v", len(starts), agent.answers)
		}
	})
}

func TestAQuestionWithinACallExpires(t *testing.T) {
	agent := &inquirer{call: mcpCall("c1"), questions: 1, within: true}
	w := newWorld(t, storetest.SQLite(t), agent.play)
	id, _ := w.asked(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
	w.ended(id)
	if outcome := w.outcomeOf(id); outcome.Outcome != domain.OutcomeSucceeded || agent.answers[0].Status != domain.ApprovalExpired {
		t.Errorf("%+v, %+v", outcome, agent.answers)
	}
}

// The connection on which the server has asked is lost with the process: so is the question, and the call is never sent again by itself.
func TestAQuestionWithinACallIsLost(t *testing.T) {
	for name, end := range map[string]func(*world){"killed": (*world).killed, "drained": (*world).drain} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				agent := &inquirer{call: mcpCall("c1"), questions: 1, within: true}
				w := newWorld(t, s, agent.play)
				id, question := w.asked()
				end(w)
				next := newWorld(t, s, agent.play, asTheLogTells(t, s))
				lost := next.approvals(id, 3)[2]
				if lost.Kind != domain.ApprovalUnknownOutcome {
					t.Errorf("%+v", lost)
				}
				if all := next.approvals(id, 3); all[1].ID != question.ID || all[1].Status != domain.ApprovalCancelled {
					t.Errorf("the question is %s", all[1].Status)
				}
				next.decide(lost, resolve(domain.ResolutionFailed, ""))
				next.ended(id)
				if outcome := next.outcomeOf(id); outcome.Outcome != domain.OutcomeUnknown || agent.begun != 1 {
					t.Errorf("%+v, begun %d times", outcome, agent.begun)
				}
			})
		})
	}
}

// Nobody can answer a question any more whose connection has ended with its server, also if nothing has told its agent.
func TestADrainWithdrawsAQuestionWithinACall(t *testing.T) {
	s, call := storetest.SQLite(t), mcpCall("c1")
	w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Want("m1", call)
		if _, err := t.Host.Authorize(ctx, call); err != nil {
			return "", err
		}
		go func() {
			_, _ = t.Host.Inquire(context.Background(), domain.Inquiry{Question: domain.Question{Call: call, Form: json.RawMessage(form)}})
		}()
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	_, question := w.asked()
	w.drain()
	if left, err := s.Approval(t.Context(), tenant, question.ID); err != nil || left.Status != domain.ApprovalCancelled {
		t.Errorf("the question is %s, %v", left.Status, err)
	}
}

// A question that is answered while the server shuts down still reaches the MCP server, which may end its call in time.
func TestAQuestionWithinACallIsAnsweredDuringADrain(t *testing.T) {
	agent := &inquirer{call: mcpCall("c1"), questions: 1, within: true}
	s := storetest.SQLite(t)
	w := newWorld(t, s, agent.play, func(c *dispatch.Config) { c.DrainGrace = time.Minute })
	id, question := w.asked()
	go func() {
		<-w.manager.Draining()
		_, _ = w.service.Decide(context.Background(), tenant, question.ID, decision(question, colour("red")))
	}()
	w.drain()
	next := newWorld(t, s, agent.play)
	next.ended(id)
	if outcome := next.outcomeOf(id); outcome.Outcome != domain.OutcomeSucceeded || agent.begun != 1 {
		t.Errorf("%+v", outcome)
	}
}

// The agent stops waiting: its question is withdrawn, and the call runs on.
func TestAQuestionWithinACallIsWithdrawn(t *testing.T) {
	call, withdrawn := mcpCall("c1"), make(chan struct{})
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Want("m1", call)
		if _, err := t.Host.Authorize(ctx, call); err != nil {
			return "", err
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := t.Host.Inquire(short, domain.Inquiry{Question: domain.Question{Call: call, Form: json.RawMessage(form)}})
		select {
		case <-withdrawn:
		case <-ctx.Done():
			return "", err
		}
		_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: call.ID, Outcome: domain.OutcomeSucceeded, Output: fmt.Sprint(err)})
		return domain.StopEndTurn, nil
	})
	id, _ := w.asked()
	resolved := 0
	w.follow(id, func(f events.Frame) bool {
		if f.Type == domain.ApprovalResolvedType {
			resolved++
		}
		return resolved == 2
	})
	w.reach(id, domain.StatusExecutingTool)
	close(withdrawn)
	w.ended(id)
	if outcome := w.outcomeOf(id); outcome.Outcome != domain.OutcomeSucceeded || outcome.Output != context.DeadlineExceeded.Error() {
		t.Errorf("%+v", outcome)
	}
	if status := w.approvals(id, 2)[1].Status; status != domain.ApprovalCancelled {
		t.Errorf("the question is %s", status)
	}
}

// A server cannot ask for ever.
func TestQuestionsAreBounded(t *testing.T) {
	agent := &inquirer{call: mcpCall("c1"), questions: domain.MaxInquiries + 1}
	w := newWorld(t, storetest.SQLite(t), agent.play)
	id := w.start()
	w.decide(w.approvals(id, 1)[0])
	for i := range domain.MaxInquiries {
		w.decide(w.approvals(id, i+2)[i+1], colour("red"))
	}
	w.ended(id)
	if outcome := w.outcomeOf(id); outcome.Outcome != domain.OutcomeFailed || outcome.Error.Code != domain.CodeLimitReached {
		t.Errorf("%+v", outcome)
	}
}

func TestQuestionsThatNobodyIsAsked(t *testing.T) {
	long := strings.Repeat("x", domain.MaxInquiryRepeat)
	for name, test := range map[string]struct {
		form, repeat string
		want         domain.Code
	}{
		"no object":              {`[]`, `1`, domain.CodeInvalid},
		"no page":                {`{"message":"Open it","url":"javascript:alert(1)","host":"x"}`, `1`, domain.CodeInvalid},
		"another host":           {`{"message":"Open it","url":"https://evil.example/","host":"bank.example"}`, `1`, domain.CodeInvalid},
		"a name before the host": {`{"message":"Open it","url":"https://bank.example@evil.example/","host":"evil.example"}`, `1`, domain.CodeInvalid},
		"a long form":            {`{"message":"` + long + `"}`, `1`, domain.CodePayloadTooLarge},
		"a long state":           {form, `"` + long + `"`, domain.CodePayloadTooLarge},
		"a secret in the state":  {form, `{"key":"ghp_` + strings.Repeat("a1B2", 9) + `"}`, domain.CodeSecretExposed},
	} {
		t.Run(name, func(t *testing.T) {
			call := mcpCall("c1")
			w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
				_ = turn.Want("m1", call)
				if _, err := turn.Host.Authorize(ctx, call); err != nil {
					return "", err
				}
				_, err := turn.Host.Inquire(ctx, domain.Inquiry{
					Question: domain.Question{Call: call, Form: json.RawMessage(test.form)}, Repeat: json.RawMessage(test.repeat),
				})
				if domain.CodeOf(err) != test.want {
					t.Errorf("%v, want %s", err, test.want)
				}
				return domain.StopEndTurn, turn.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: call.ID, Outcome: domain.OutcomeFailed})
			})
			id := w.start()
			w.decide(w.approvals(id, 1)[0])
			w.ended(id)
			if n := len(w.approvals(id, 1)); n != 1 {
				t.Errorf("%d approvals", n)
			}
		})
	}
}

func TestOnlyARunningCallIsAskedAbout(t *testing.T) {
	call := mcpCall("c1")
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		_ = turn.Want("m1", call)
		for _, id := range []string{"c1", "c2"} { // it has not started; there is none
			_, err := turn.Host.Inquire(ctx, domain.Inquiry{Question: domain.Question{Call: mcpCall(id), Form: json.RawMessage(form)}})
			if domain.CodeOf(err) != domain.CodeConflict {
				t.Error(err)
			}
		}
		return domain.StopEndTurn, nil
	})
	w.ended(w.start())
}

// Nobody is there to answer: the server gets a no, and its call goes on.
func TestNobodyAnswersInAnUnattendedExecution(t *testing.T) {
	for _, within := range []bool{false, true} {
		agent := &inquirer{call: mcpCall("c1"), questions: 1, within: within}
		w := newWorld(t, storetest.SQLite(t), agent.play)
		id := w.start(func(r *domain.Request) { r.Unattended, r.Capabilities.MCP = true, domain.Allow })
		w.ended(id)
		if outcome := w.outcomeOf(id); outcome.Outcome != domain.OutcomeSucceeded || agent.answers[0].Status != domain.ApprovalDenied || agent.answers[0].Message == "" {
			t.Errorf("%+v, %+v", outcome, agent.answers)
		}
		if starts := payloads[domain.ToolCallStarted](t, w.events(id)); len(starts) != 1 {
			t.Errorf("%d starts", len(starts))
		}
	}
}
