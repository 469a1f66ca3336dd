package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
	"signoff/internal/sandbox/stdio"
	"signoff/internal/tools/hosttest"
)

func TestTurn(t *testing.T) {
	r := newRig(t).open()
	r.runs("think Hm.", `say "Hello, "`, "say world", `call c1 kind=execute title=ls input={"command":"ls"}`,
		"update c1 in_progress", "update c1 completed done", "say Bye")
	want(t, "text", r.host.Text(), "Hello, worldBye")
	want(t, "thought", r.host.Thought(), "Hm.")
	var types []string
	for _, payload := range r.host.Payloads() {
		types = append(types, string(payload.EventType()))
	}
	want(t, "events", strings.Join(types, " "), "thought.delta thought.completed message.delta message.delta "+
		"message.completed toolCall.requested toolCall.reported toolCall.reported toolCall.started toolCall.reported "+
		"toolCall.completed message.delta message.completed")
}

func TestStopReasons(t *testing.T) {
	r := newRig(t).open()
	for word, wanted := range map[string]domain.StopReason{
		"end_turn": domain.StopEndTurn, "max_tokens": domain.StopMaxTokens, "max_turn_requests": domain.StopMaxIterations,
		"refusal": domain.StopRefusal, "cancelled": domain.StopCancelled,
	} {
		stop, err := r.prompt(t.Context(), "stop "+word)
		if stop != wanted || err != nil {
			t.Errorf("%s: got %q, %v", word, stop, err)
		}
	}
	_, err := r.prompt(t.Context(), "stop bored")
	want(t, "unknown", r.fails(err, domain.CodeAgentProtocol), `The agent ended its turn for a reason that is unknown here: "bored".`)
	_, err = stopReason([]byte(`null`))
	r.fails(err, domain.CodeAgentProtocol)
}

func TestErrorsOfTheAgent(t *testing.T) {
	r := newRig(t)
	r.launch.Mask = masking("sk-secret")
	r.open()
	for _, test := range []struct{ step, wanted string }{
		{`fail -32603 "Internal error" {"details":"401 for sk-secret"}`, "The agent answered the prompt with an error: Internal error: 401 for *** (code -32603)"},
		{`fail -32603 "Internal error" {"errorName":"APIError","other":1}`, "Internal error: APIError (code"},
		{`fail -32603 "Internal error" {"codex_error_info":{"kind":"x"}}`, `Internal error: {"kind":"x"} (code`},
		{`fail 500 Overloaded '"try later"'`, "Overloaded: try later (code 500)"},
		{`fail -32603 boom`, "error: boom (code -32603)"},
	} {
		_, err := r.prompt(t.Context(), "say half", test.step)
		if message := r.fails(err, domain.CodeAgentFailed); !strings.Contains(message, test.wanted) {
			t.Errorf("%s: the message is %q", test.step, message)
		}
	}
	_, err := r.prompt(t.Context(), `fail -32000 "Authentication required"`)
	r.fails(err, domain.CodeAgentUnauthorized)
	r.runs("say it goes on")
	want(t, "interrupted", hosttest.Of[domain.MessageCompleted](r.host)[0].Interrupted, true)
	long := (&agent{}).wording(&acp.RequestError{Message: strings.Repeat("x", 1<<20)})
	if len(long) > failureBytes+10 {
		t.Errorf("the message has %d bytes", len(long))
	}
}

// masking hides one word.
func masking(word string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(word), []byte("***")) }
}

// TestCancel: whatever the agent makes of it, the turn ends with the cause, and soon: otherwise it would be killed.
func TestCancel(t *testing.T) {
	for _, manners := range []string{"good", "error", "endturn", "needanswer", "withdraw"} {
		t.Run(manners, func(t *testing.T) {
			r := newRig(t).open()
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			r.host.Answer = func(ctx context.Context, _ domain.Question) (domain.Answer, error) {
				cancel(stopped)
				<-ctx.Done()
				return domain.Answer{}, context.Cause(ctx)
			}
			_, err := r.prompt(ctx, "oncancel "+manners, "say half", "ask c1")
			if !errors.Is(err, stopped) {
				t.Errorf("got %v", err)
			}
			r.host.Answer = nil
			r.goes("say again")
			if exits := hosttest.Of[domain.AgentExited](r.outside); len(exits) != 0 {
				t.Errorf("it has exited: %v", exits)
			}
		})
	}
}

// TestAnswersComeBeforeTheCancel: an agent may wait for them and look at nothing else.
func TestAnswersComeBeforeTheCancel(t *testing.T) {
	r := newRig(t)
	r.opening.Execution.Request.Debug = true
	r.open()
	ctx, cancel := context.WithCancel(t.Context())
	r.host.Answer = func(ctx context.Context, _ domain.Question) (domain.Answer, error) {
		cancel()
		<-ctx.Done()
		return domain.Answer{}, context.Cause(ctx)
	}
	_, _ = r.prompt(ctx, "ask c1")
	var order []string
	for _, traced := range r.outside.Traces() {
		for _, words := range []string{`"outcome":"cancelled"`, `"session/cancel"`} {
			if traced.Direction == domain.ToAgent && strings.Contains(traced.Message, words) {
				order = append(order, words)
			}
		}
	}
	want(t, "order", fmt.Sprint(order), `["outcome":"cancelled" "session/cancel"]`)
}

// TestUnheardCancelKills: an agent that does not stop is ended, and the next prompt says so.
func TestUnheardCancelKills(t *testing.T) {
	t.Parallel()
	r := newRig(t).open()
	ctx, cancel := context.WithCancel(t.Context())
	begun := time.Now()
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := r.prompt(ctx, "oncancel ignore", "say half", "silence 60000")
	if took := time.Since(begun); !errors.Is(err, context.Canceled) || took < cancelGrace || took > cancelGrace+20*time.Second {
		t.Errorf("got %v after %v", err, took)
	}
	exited := hosttest.Of[domain.AgentExited](r.outside)
	if len(exited) != 1 || !strings.Contains(exited[0].Message, "it did not stop when its turn was cancelled") {
		t.Errorf("told: %v", exited)
	}
	_, err = r.prompt(t.Context(), "say again")
	r.fails(err, domain.CodeAgentExited)
	if n := len(hosttest.Of[domain.AgentExited](r.outside)); n != 1 {
		t.Errorf("its exit was told %d times", n)
	}
}

// overtaken is an agent that loses the first cancel, as one does that gets it ahead of the prompt.
const overtaken = `
answer() { read -r line; echo '{"jsonrpc":"2.0","id":'$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')',"result":'"$1"'}'; }
answer '{"protocolVersion":1}'
answer '{"sessionId":"s"}'
read -r prompt
read -r cancel
read -r again
echo "$prompt" | answer '{"stopReason":"cancelled"}'
read -r end
`

func TestLostCancelIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch.Process.Argv = []string{"/bin/sh", "-c", overtaken}
	r.open()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.prompt(ctx, "say hello"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	want(t, "lost", r.agent.lost(), false)
}

// TestCancelBeforeThePrompt: it is not even sent.
func TestCancelBeforeThePrompt(t *testing.T) {
	r := newRig(t).open()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := r.prompt(ctx, "file ran.txt"); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	want(t, "events", len(r.host.Payloads()), 0)
}

// TestCrash: only of an agent that was gone before is it certain that it has done nothing.
func TestCrash(t *testing.T) {
	r := newRig(t)
	r.launch.Mask = masking("sk-secret")
	r.open()
	_, err := r.prompt(t.Context(), "stderr the key sk-secret", "stderr the disk is full", "say Hel", "crash 3")
	message := r.fails(err, domain.CodeAgentExited)
	want(t, "message", message, "The agent's process ended with exit code 3. It last wrote to its standard error:\nthe key ***\nthe disk is full")
	want(t, "interrupted", hosttest.Of[domain.MessageCompleted](r.host)[0].Interrupted, true)
	want(t, "not prompted, of the prompt that it died of", errors.Is(err, domain.ErrNotPrompted), false)
	_, err = r.prompt(t.Context(), "say again")
	want(t, "message of the next one", r.fails(err, domain.CodeAgentExited), message)
	want(t, "not prompted, of the next one", errors.Is(err, domain.ErrNotPrompted), true)
	want(t, "told as a fact, too", len(hosttest.Of[domain.AgentExited](r.outside))+len(hosttest.Of[domain.AgentExited](r.host)), 0)
}

// TestAnswerCountsAlsoFromADyingAgent: the answer was there before the end.
func TestAnswerCountsAlsoFromADyingAgent(t *testing.T) {
	r := newRig(t).open()
	r.runs("say done", "answerexit 0")
	exited := await[domain.AgentExited](r, r.outside, nil)
	want(t, "message", exited.Message, "The agent's process ended with exit code 0.")
}

func TestExitBetweenTurns(t *testing.T) {
	r := newRig(t).open()
	r.runs("say hello", "late 30 crash 9")
	exited := await[domain.AgentExited](r, r.outside, nil)
	if !strings.Contains(exited.Message, "exit code 9") {
		t.Errorf("the message is %q", exited.Message)
	}
	_, err := r.prompt(t.Context(), "say again")
	r.fails(err, domain.CodeAgentExited)
	want(t, "exits", len(hosttest.Of[domain.AgentExited](r.outside)), 1)
}

func TestSilentAgent(t *testing.T) {
	r := newRig(t)
	r.launch.SilentAfter = time.Second
	r.open()
	ended := make(chan error, 1)
	go func() {
		_, err := r.prompt(t.Context(), "await told")
		ended <- err
	}()
	told := await[domain.AgentSilent](r, r.host, nil)
	if told.Turn != 1 || told.Seconds < 1 {
		t.Errorf("told %+v", told)
	}
	if err := os.WriteFile(filepath.Join(r.host.Dir, "told"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.host.Finish(t, true)
}

// TestDebug: raw messages and standard error are shown only where that is on, and without secrets.
func TestDebug(t *testing.T) {
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			r := newRig(t)
			r.launch.Mask = masking("sk-secret")
			r.opening.Execution.Request.Debug = on
			r.opening.Host, r.host = r.outside, r.outside
			r.open()
			r.runs("stderr a line with sk-secret", "say sk-secret", "silence 20")
			var shown strings.Builder
			for _, piece := range hosttest.Of[domain.AgentStderr](r.outside) {
				shown.WriteString(piece.Text)
			}
			traces := r.outside.Traces()
			if !on {
				want(t, "shown", shown.String(), "")
				want(t, "traces", len(traces), 0)
				return
			}
			want(t, "shown", shown.String(), "a line with ***\n")
			all := fmt.Sprint(traces)
			if strings.Contains(all, "sk-secret") || !strings.Contains(all, `"session/prompt"`) || !strings.Contains(all, `"stopReason":"end_turn"`) {
				t.Errorf("traces: %s", all)
			}
		})
	}
}

// TestSecretsAreHidden in what is told, also in the agent's own words.
func TestSecretsAreHidden(t *testing.T) {
	r := newRig(t)
	r.launch.Mask = masking("sk-secret")
	r.open()
	r.runs("say the key is sk-secret", `call c1 title="curl sk-secret" input={"k":"sk-secret"} status=completed`)
	for _, line := range told(t, r.host) {
		if strings.Contains(line, "sk-secret") {
			t.Errorf("told: %s", line)
		}
	}
	broken := &agent{config: Config{Mask: func([]byte) []byte { return []byte("***") }}}
	if _, err := broken.shown([]byte(`{"a":1}`)); err == nil {
		t.Error("what is no JSON any more was passed on")
	}
}

func TestNoiseIsShownAFewTimes(t *testing.T) {
	r := newRig(t).open()
	r.runs("flood 65536", "say done")
	shown := hosttest.Of[domain.AgentUpdated](r.host)
	if len(shown) != protocolErrorsShown || shown[0].Kind != "disturbance" || r.host.Text() != "done" {
		t.Errorf("%d shown, said %q", len(shown), r.host.Text())
	}
}

func TestStandardErrorIsDrained(t *testing.T) {
	r := newRig(t).open()
	r.runs("stderrflood 1000000", "say done")
	want(t, "text", r.host.Text(), "done")
}

// stuckHost takes nothing, as one does whose session is busy with something else.
type stuckHost struct {
	*hosttest.Host
	entered, freed chan struct{}
}

func (h stuckHost) Emit(ctx context.Context, _ ...domain.Payload) error {
	h.entered <- struct{}{}
	<-ctx.Done()
	h.freed <- struct{}{}
	return context.Cause(ctx)
}

// TestCloseFreesWhoWaitsForTheHost: the session that closes an agent does not listen to it meanwhile.
func TestCloseFreesWhoWaitsForTheHost(t *testing.T) {
	r := newRig(t)
	stuck := stuckHost{r.outside, make(chan struct{}, 10), make(chan struct{}, 10)}
	r.opening.Host = stuck
	r.open()
	// On a busy machine the late text may still be read within its turn: then another turn has another one.
	for try := 0; ; try++ {
		r.runs("say hello", "late 20 say later")
		if stdio.Within(5*time.Second, stuck.entered) {
			break
		}
		if try == 10 {
			t.Fatal("no text came after its turn")
		}
	}
	if err := r.agent.Close(); err != nil {
		t.Error(err)
	}
	if !stdio.Within(20*time.Second, stuck.freed) {
		t.Error("the host is still waited for")
	}
}

// A bug of ours costs a message, and not the server.
func TestPanicInAMessage(t *testing.T) {
	r := newRig(t).open()
	r.host.Refuse = func(payload domain.Payload) error {
		if _, plan := payload.(domain.PlanUpdated); plan {
			panic("a bug")
		}
		return nil
	}
	r.host.Answer = func(context.Context, domain.Question) (domain.Answer, error) { panic("another bug") }
	r.goes("say before", "plan one", "ask c1", "say after")
	await(r, r.host, func(said domain.MessageDelta) bool { return strings.Contains(said.Text, "after") })
}
