package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// echo says its prompt, and how long its history is.
func echo(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	var said []string
	for _, message := range t.Prompt.History {
		said = append(said, string(message.Role[0])+":"+message.Text)
	}
	return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn), t.Prompt.Text+" after "+strings.Join(said, ","))
}

func keepOpen(r *domain.Request) { r.KeepOpen, r.IdleTimeoutSeconds = true, 86400 }

// say prompts an execution and expects to be taken in.
func (w *world) say(id domain.ExecutionID, text string, when domain.WhenBusy) domain.QueuedPrompt {
	w.t.Helper()
	prompt, err := w.prompt(id, text, when)
	if err != nil {
		w.t.Fatal("prompt:", err)
	}
	return prompt
}

func (w *world) prompt(id domain.ExecutionID, text string, when domain.WhenBusy) (domain.QueuedPrompt, error) {
	prompt, _, err := w.manager.Prompt(context.Background(), tenant, id, domain.QueuedPrompt{Text: text, WhenBusy: when}, alice, nil)
	return prompt, err
}

// becomes waits until the execution has entered a status for the nth time.
func (w *world) becomes(id domain.ExecutionID, status domain.Status, nth int) {
	w.t.Helper()
	w.follow(id, func(f events.Frame) bool {
		if f.Type == domain.StateChangedType && strings.Contains(string(f.SSE), `"to":"`+string(status)+`"`) {
			nth--
		}
		return nth == 0
	})
	if nth > 0 {
		w.t.Fatalf("it never became %s: %v", status, types(w.events(id)))
	}
}

func (w *world) close(id domain.ExecutionID) domain.Execution {
	w.t.Helper()
	if _, err := w.manager.Close(context.Background(), tenant, id, alice); err != nil {
		w.t.Fatal("close:", err)
	}
	return w.ended(id)
}

// TestWhatAnAgentTellsSaysItsTurn: an agent does not know which turn of the execution it is in.
func TestWhatAnAgentTellsSaysItsTurn(t *testing.T) {
	update := json.RawMessage(`{}`)
	told := []domain.Payload{
		domain.PlanUpdated{Update: update}, domain.RateLimitUpdated{Update: update}, domain.AgentUpdated{Kind: "new", Update: update},
		domain.AgentModeChanged{Mode: "code"}, domain.AgentOptionsUpdated{}, domain.CommandsUpdated{Update: update}, domain.AgentSilent{Seconds: 1},
		domain.ContextCompacted{Reason: "overflow"},
	}
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		err := turn.Host.Emit(ctx, told...)
		if err != nil {
			t.Error("the agent may not emit its events:", err)
		}
		return domain.StopEndTurn, err
	})
	id := w.start()
	w.ended(id)
	turns := map[domain.EventType]int{}
	for _, event := range w.events(id) {
		var data struct{ Turn int }
		if err := json.Unmarshal(event.Data, &data); err != nil {
			t.Fatal(err)
		}
		turns[event.Type] = data.Turn
	}
	for _, p := range told {
		if turns[p.EventType()] != 1 {
			t.Errorf("%s is of turn %d", p.EventType(), turns[p.EventType()])
		}
	}
}

// TestAnAgentCannotForge: decisions, statuses and ends are written by the session alone.
func TestAnAgentCannotForge(t *testing.T) {
	byAgent := string(approvals.ByAgent)
	forged := []domain.Payload{
		domain.ExecutionCreated{}, domain.StateChanged{To: domain.StatusIdle}, domain.PromptQueued{}, domain.PromptDiscarded{},
		domain.TurnStarted{Turn: 2}, domain.TurnContinued{}, domain.TurnEnded{Turn: 1}, domain.AgentStarted{}, domain.ToolCallQueued{},
		domain.ToolCallStarted{AllowedBy: string(approvals.ByDecision)}, domain.ToolCallStarted{AllowedBy: byAgent, ApprovalID: "a"},
		domain.ToolCallStarted{AllowedBy: byAgent, RuleID: "r"}, domain.ApprovalRequested{}, domain.ApprovalResolved{Status: domain.ApprovalApproved},
		domain.BudgetWarned{}, domain.BlocksGenerated{}, domain.BlocksAccepted{}, domain.ExecutionEnded{Status: domain.StatusCompleted},
		domain.ExecutionEnded{Status: domain.StatusFailed}, domain.ExecutionEnded{Status: domain.StatusCancelled},
		domain.ExecutionEnded{Status: domain.StatusTimedOut},
	}
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		for _, payload := range forged {
			if err := turn.Host.Emit(ctx, payload); err == nil {
				t.Errorf("an agent may emit %+v", payload)
			}
		}
		return domain.StopEndTurn, nil
	})
	w.ended(w.start())
}

func TestFurtherTurns(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, echo)
		id := w.start(keepOpen)
		w.becomes(id, domain.StatusIdle, 1)
		w.say(id, "two", domain.WhenBusyReject)
		w.becomes(id, domain.StatusIdle, 2)
		w.say(id, "three", "")
		w.becomes(id, domain.StatusIdle, 3)
		end := w.close(id)
		if end.Status != domain.StatusCompleted || end.Output.FinishReason != domain.FinishEndTurn || end.Turn != 3 {
			t.Errorf("%+v %+v", end, end.Output)
		}
		log := w.events(id)
		want := "three after u:go,a:go after u:go,u:two,a:two after u:go,a:go after u:go,u:two,u:three"
		if end.Output.Text != want {
			t.Errorf("the agent was given %q", end.Output.Text)
		}
		var turns []string
		for _, started := range payloads[domain.TurnStarted](t, log) {
			turns = append(turns, started.Text)
		}
		if !cmp.Equal(turns, []string{"", "two", "three"}) {
			t.Error(turns)
		}
		if ended := payloads[domain.TurnEnded](t, log); len(ended) != 3 || ended[2].Turn != 3 {
			t.Error(ended)
		}
	})
}

func TestPromptsWaitForTheirTurn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		goOn := make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			select {
			case <-goOn:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			return domain.StopEndTurn, t.Say("m"+t.Prompt.Text, t.Prompt.Text)
		})
		id := w.start() // not kept open: queued prompts run all the same
		w.until(id, domain.TurnStartedType)
		for _, text := range []string{"a", "b", "c"} {
			w.say(id, text, domain.WhenBusyEnqueue)
		}
		if _, err := w.prompt(id, "d", domain.WhenBusyReject); domain.CodeOf(err) != domain.CodeBusy {
			t.Errorf("a prompt that does not wait: %v", err)
		}
		close(goOn)
		if end := w.ended(id); end.Turn != 4 || end.Output.Text != "c" || end.Status != domain.StatusCompleted {
			t.Errorf("%+v", end)
		}
		if _, err := w.prompt(id, "late", ""); domain.CodeOf(err) != domain.CodeExecutionEnded {
			t.Errorf("a prompt after the end: %v", err)
		}
	})
}

// A prompt that is acknowledged has its turn, however close to the end it comes.
func TestNoPromptIsLostAtTheEnd(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, echo)
		var group sync.WaitGroup
		for range 20 {
			id := w.start()
			group.Go(func() {
				taken := 0
				for range 5 {
					if _, err := w.prompt(id, "more", ""); err == nil {
						taken++
					} else if domain.CodeOf(err) != domain.CodeExecutionEnded {
						t.Error(err)
					}
				}
				if end := w.ended(id); end.Turn != 1+taken {
					t.Errorf("%d prompts were taken, %d turns ran", taken, end.Turn)
				}
			})
		}
		group.Wait()
	})
}

func TestPromptThatInterrupts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Turn == 1 {
				_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "half"})
				_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
				_, err := t.Use(sessionstest.Bash("c1", "ls"), nil)
				return "", err
			}
			return domain.StopEndTurn, t.Say("m"+t.Prompt.Text, t.Prompt.Text)
		})
		id := w.start()
		w.approvals(id, 1)
		w.say(id, "queued", domain.WhenBusyEnqueue)
		w.say(id, "now", domain.WhenBusyInterrupt)
		end := w.ended(id)
		log := w.events(id)
		var order []string
		for _, started := range payloads[domain.TurnStarted](t, log) {
			order = append(order, started.Text)
		}
		if end.Status != domain.StatusCompleted || !cmp.Equal(order, []string{"", "now", "queued"}) {
			t.Errorf("%s, turns %v", end.Status, order)
		}
		if ended := payloads[domain.TurnEnded](t, log); ended[0].StopReason != domain.StopCancelled {
			t.Errorf("the turn that made room: %+v", ended[0])
		}
		if outcomes := payloads[domain.ToolCallCompleted](t, log); outcomes[0].Outcome != domain.OutcomeCancelled {
			t.Errorf("its call: %+v", outcomes[0])
		}
	})
}

func TestClose(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if t.Prompt.Turn == 1 {
			_, err := t.Use(sessionstest.Bash("c1", "ls"), func(json.RawMessage) string { return "" })
			return domain.StopEndTurn, err
		}
		return echo(ctx, t)
	})
	id := w.start(keepOpen)
	approval := w.approvals(id, 1)[0]
	w.say(id, "queued", "")
	if _, err := w.store.Commit(context.Background(), []store.Change{{Execution: id, Close: &alice}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.prompt(id, "late", ""); domain.CodeOf(err) != domain.CodeClosed {
		t.Errorf("a prompt after the close: %v", err)
	}
	w.decide(approval)
	if end := w.ended(id); end.Turn != 2 || end.Status != domain.StatusCompleted {
		t.Errorf("the queued prompt had no turn: %+v", end)
	}
	if again := w.close(id); again.Status != domain.StatusCompleted {
		t.Error(again.Status)
	}
}

func TestCancelDiscardsQueuedPrompts(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	id := w.start(keepOpen)
	w.until(id, domain.TurnStartedType)
	queued := w.say(id, "never", "")
	if end := w.cancel(id); end.Status != domain.StatusCancelled {
		t.Fatal(end.Status)
	}
	if discarded := payloads[domain.PromptDiscarded](t, w.events(id)); len(discarded) != 1 || discarded[0].PromptID != queued.ID {
		t.Error(discarded)
	}
}

func TestCancelWhileIdle(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), echo)
	id := w.start(keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	if end := w.cancel(id); end.Status != domain.StatusCancelled {
		t.Fatal(end.Status)
	}
	if ended := payloads[domain.TurnEnded](t, w.events(id)); len(ended) != 1 {
		t.Errorf("turns ended %d times", len(ended))
	}
}

// A refusal or a limit is an answer in a conversation that stays open.
func TestKeptOpenAfterALimit(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if t.Prompt.Turn == 1 {
			return domain.StopMaxTokens, nil
		}
		return echo(ctx, t)
	})
	id := w.start(keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.say(id, "go on", "")
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
}

// An error of our own agent ends only the turn, too: neither the earlier messages nor the next prompt are lost.
func TestKeptOpenAfterAnError(t *testing.T) {
	for name, first := range map[string]sessionstest.Script{
		"an error": func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
			return "", domain.Errorf(domain.CodeModelFailed, "the model said no to "+canary)
		},
		"a panic":           func(context.Context, *sessionstest.Turn) (domain.StopReason, error) { panic(canary) },
		"stopped by itself": func(context.Context, *sessionstest.Turn) (domain.StopReason, error) { return domain.StopCancelled, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				if t.Prompt.Turn == 1 {
					return first(ctx, t)
				}
				return echo(ctx, t)
			}, masking)
			id := w.start(keepOpen)
			w.becomes(id, domain.StatusIdle, 1)
			w.say(id, "two", "")
			w.becomes(id, domain.StatusIdle, 2)
			if end := w.close(id); end.Status != domain.StatusCompleted || end.Output.Text != "two after u:go,u:two" {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
			log := w.events(id)
			if ended := payloads[domain.TurnEnded](t, log); ended[0].Error == nil {
				t.Errorf("%+v", ended[0])
			}
			for _, event := range log {
				if strings.Contains(string(event.Data), canary) {
					t.Errorf("a secret is shown: %s", event.Data)
				}
			}
		})
	}
}

func TestIdleExpires(t *testing.T) {
	onFakeTime(t, echo, func(t *testing.T, w *world) {
		id := w.start(func(r *domain.Request) { r.KeepOpen, r.IdleTimeoutSeconds = true, 3600 })
		began := time.Now()
		end := w.ended(id)
		if end.Status != domain.StatusCompleted || end.Output.FinishReason != domain.FinishExpired {
			t.Errorf("%+v", end)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// An idle execution costs nothing across restarts: no agent is opened before a prompt comes.
func TestIdleSurvivesRestarts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 10)}
		world := func() *world { return newWorld(t, s, nil, externally(external)) }
		w := world()
		id := w.start(keepOpen, outside)
		w.becomes(id, domain.StatusIdle, 1)
		<-external.Opened
		for range 5 {
			w.killed()
			w = world()
		}
		select {
		case again := <-external.Opened:
			t.Fatalf("opened for nothing: %+v", again)
		default:
		}
		w.say(id, "two", "")
		w.becomes(id, domain.StatusIdle, 2)
		if again := <-external.Opened; again.AgentSession != "session-1" {
			t.Errorf("opened as %+v", again)
		}
		if end := w.close(id); end.Output.Text != "two after " {
			t.Errorf("an agent that remembers was told %q", end.Output.Text)
		}
		if started := payloads[domain.AgentStarted](t, w.events(id)); len(started) != 2 || started[1].Continued != "load" {
			t.Errorf("%+v", started)
		}
	})
}

// Restarts of an idle execution do not count against its next turn.
func TestRestartsWhileIdleAreNoFailedRecoveries(t *testing.T) {
	s := storetest.SQLite(t)
	script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if t.Prompt.Text != "two" {
			return echo(ctx, t)
		}
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m-half", Text: "half"})
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	w, _ := abroad(t, s, script)
	id := w.start(keepOpen, outside)
	w.becomes(id, domain.StatusIdle, 1)
	for range 4 {
		w.killed()
		w, _ = abroad(t, s, script)
	}
	w.say(id, "two", "")
	w.follow(id, func(f events.Frame) bool { return strings.Contains(string(f.SSE), "half") })
	w.killed()
	w, _ = abroad(t, s, script)
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
}

// The resources of a turn are released with the turn, and not only with the execution.
func TestTheContextOfATurnEndsWithIt(t *testing.T) {
	contexts := make(chan context.Context, 2)
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		contexts <- ctx
		return echo(ctx, t)
	})
	id := w.start(keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.say(id, "two", "")
	w.becomes(id, domain.StatusIdle, 2)
	if first := <-contexts; first.Err() == nil {
		t.Error("the context of the first turn goes on")
	}
	w.close(id)
}

func externally(e *sessionstest.External) func(*dispatch.Config) {
	return func(c *dispatch.Config) { c.Agents[domain.SourceACP] = e.Open }
}

func outside(r *domain.Request) {
	r.Source = domain.Source{Type: domain.SourceACP, Command: "external"}
}

func TestAgentThatExitsWhileIdleIsOpenedAgain(t *testing.T) {
	var host domain.Host
	external := &sessionstest.External{Opened: make(chan domain.Opening, 10), Script: echo}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external))
	id := w.start(keepOpen, outside)
	host = (<-external.Opened).Host
	w.becomes(id, domain.StatusIdle, 1)
	if err := host.Emit(context.Background(), domain.AgentUpdated{Kind: "news", Update: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := host.Emit(context.Background(), domain.MessageDelta{MessageID: "m0", Text: "by the way"}); err != nil {
		t.Fatal(err)
	}
	tokens := int64(7)
	if err := host.Emit(context.Background(), domain.UsageUpdated{Usage: domain.Usage{InputTokens: &tokens}}); err != nil {
		t.Fatal(err)
	}
	if err := host.Emit(context.Background(), domain.AgentExited{Message: "gone"}); err != nil {
		t.Fatal(err)
	}
	w.until(id, domain.AgentExitedType)
	w.say(id, "two", "")
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
	log := w.events(id)
	if again := <-external.Opened; again.AgentSession != "session-1" || again.Execution.Turn != 1 || *again.Execution.Usage.InputTokens != 7 {
		t.Errorf("%+v", again)
	}
	for _, message := range payloads[domain.MessageCompleted](t, log) {
		if message.MessageID == "m0" && (message.Turn != 0 || message.Interrupted) {
			t.Errorf("%+v", message)
		}
	}
	if news := payloads[domain.AgentUpdated](t, log); len(news) != 1 || news[0].Turn != 0 {
		t.Errorf("between turns: %+v", news)
	}
}

// TestAgentLog: an agent that loads its session gets the session's log, of all executions that it had.
func TestAgentLog(t *testing.T) {
	external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 10)}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external))
	var wanted []string
	var last domain.ExecutionID
	for _, prompt := range []string{"first", "second", "third"} {
		id := w.start(outside, func(r *domain.Request) { r.ResumeFrom, r.Prompt = last, prompt })
		w.ended(id)
		opening := <-external.Opened
		var heard []string
		if err := opening.Log(t.Context(), func(of domain.Request, event domain.Event) {
			switch payload, _ := event.Payload(); p := payload.(type) {
			case domain.ExecutionCreated:
				heard = append(heard, of.FirstPrompt())
			case domain.MessageDelta:
				heard = append(heard, p.Text)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for i, part := range heard { // the agent answers while the log is read
			heard[i] = strings.TrimSpace(part)
		}
		wanted = append(wanted, prompt)
		if got := strings.Join(heard, "|"); !strings.HasPrefix(got, strings.Join(wanted, "|")) {
			t.Errorf("the log of %q has %q, want %q", prompt, got, wanted)
		}
		answer, _ := w.store.Execution(t.Context(), tenant, id)
		wanted = append(wanted, strings.TrimSpace(answer.Output.Text))
		last = id
	}
}

func TestResumeFrom(t *testing.T) {
	external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 10)}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external))
	id := w.start(outside)
	w.ended(id)
	<-external.Opened
	from := func(r *domain.Request) { r.ResumeFrom = id }
	w.ended(w.start(outside, from))
	if again := <-external.Opened; again.AgentSession != "session-1" {
		t.Errorf("%+v", again)
	}
	busy := w.start(outside, from, keepOpen)
	w.becomes(busy, domain.StatusIdle, 1)
	if _, _, err := w.manager.Start(context.Background(), tenant, alice, request(outside, from), nil); domain.CodeOf(err) != domain.CodeNotResumable {
		t.Errorf("two at once: %v", err)
	}
	w.close(busy)
	open := w.start(outside, keepOpen)
	w.becomes(open, domain.StatusIdle, 1)
	external.Forgets = true
	forgetful := w.start(outside)
	w.ended(forgetful)
	for name, change := range map[string]func(*domain.Request){
		"another agent":      func(r *domain.Request) { r.Source.Command = "other" },
		"the internal agent": func(r *domain.Request) { r.Source = domain.Source{Type: domain.SourceInternal} },
		"another folder":     func(r *domain.Request) { r.WorkingDirectory = "/other" },
		"one that is live":   func(r *domain.Request) { r.ResumeFrom = open },
		"a forgetful one":    func(r *domain.Request) { r.ResumeFrom = forgetful },
	} {
		_, _, err := w.manager.Start(context.Background(), tenant, alice, request(outside, from, change), nil)
		if domain.CodeOf(err) != domain.CodeNotResumable {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := w.manager.Start(context.Background(), tenant, alice, request(outside, func(r *domain.Request) { r.ResumeFrom = "none" }), nil)
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("none: %v", err)
	}
	w.close(open)
}

// slowToLeave is an agent whose process takes its time to end.
type slowToLeave struct {
	domain.Agent
	leave <-chan struct{}
}

func (a slowToLeave) Close() error { <-a.leave; return a.Agent.Close() }

// TestResumeFromAnAgentThatIsLeaving: after the end of an execution its session may be continued, though its process is still
// there.
func TestResumeFromAnAgentThatIsLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 10)}
		leave := make(chan struct{})
		w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
			c.Agents[domain.SourceACP] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
				agent, err := external.Open(ctx, opening)
				return slowToLeave{agent, leave}, err
			}
		})
		id := w.start(outside)
		w.ended(id)
		from := func(r *domain.Request) { r.ResumeFrom = id }
		w.ended(w.start(outside, from))
		errs := make(chan error, 1)
		go func() {
			_, _, err := w.manager.Start(context.Background(), tenant, alice, request(outside, from), nil)
			errs <- err
		}()
		select {
		case err := <-errs:
			t.Errorf("it does not wait: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		close(leave)
		if err := <-errs; err != nil {
			t.Error(err)
		}
	})
}

func TestIdempotentPrompt(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), echo)
	id := w.start(keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	send := func(body string) (domain.QueuedPrompt, bool, error) {
		return w.manager.Prompt(context.Background(), tenant, id, domain.QueuedPrompt{Text: "two"}, alice,
			&store.Idempotency{Key: "k", BodyHash: []byte(body)})
	}
	first, replayed, err := send("a")
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	again, replayed, err := send("a")
	if err != nil || !replayed || again.ID != first.ID {
		t.Error(again, replayed, err)
	}
	if _, _, err := send("b"); domain.CodeOf(err) != domain.CodeIdempotencyMismatch {
		t.Error(err)
	}
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
	if late, replayed, err := send("a"); err != nil || !replayed || late.ID != first.ID {
		t.Error("after the end:", replayed, err)
	}
	if n := len(payloads[domain.TurnStarted](t, w.events(id))); n != 2 {
		t.Errorf("%d turns", n)
	}
}

func TestTraceIsKeptOnlyOnDemand(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			t.Host.Trace(domain.ToAgent, []byte(`{"id":1}`))
			t.Host.Trace(domain.FromAgent, []byte(strings.Repeat("x", 100_000)))
			return domain.StopEndTurn, nil
		})
		quiet, loud := w.start(), w.start(func(r *domain.Request) { r.Debug = true })
		w.ended(quiet)
		w.ended(loud)
		if feed, err := s.DebugPage(context.Background(), quiet, 0, 10, 1<<20); err != nil || len(feed) != 0 {
			t.Error(feed, err)
		}
		feed, err := s.DebugPage(context.Background(), loud, 0, 10, 1<<20)
		if err != nil || len(feed) != 2 || feed[0].Message != `{"id":1}` || feed[0].Direction != domain.ToAgent ||
			len(feed[1].Message) != 64<<10 || feed[1].Bytes != 100_000 || !slices.IsSortedFunc(feed, func(a, b domain.DebugMessage) int { return int(a.N - b.N) }) {
			t.Errorf("%d messages, %v", len(feed), err)
		}
	})
}
