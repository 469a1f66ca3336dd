package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// logOf is what was logged of a session that began with this prompt.
func logOf(prompt string, payloads ...domain.Payload) domain.AgentLog {
	return func(_ context.Context, take func(domain.Request, domain.Event)) error {
		for _, payload := range append([]domain.Payload{domain.ExecutionCreated{}}, payloads...) {
			take(domain.Request{Prompt: prompt}, domain.NewEvent("e", payload))
		}
		return nil
	}
}

func chunkUpdate(kind, text string) string {
	return fmt.Sprintf(`{"sessionUpdate":%q,"content":{"type":"text","text":%s}}`, kind, domain.Encode(text))
}

func userSays(text string) string    { return chunkUpdate("user_message_chunk", text) }
func agentSays(text string) string   { return chunkUpdate("agent_message_chunk", text) }
func agentThinks(text string) string { return chunkUpdate("agent_thought_chunk", text) }

var twoTurns = logOf("What is in the folder?",
	domain.ThoughtDelta{MessageID: "m1", Text: "I look."},
	domain.MessageDelta{MessageID: "m1", Text: "There is "}, domain.MessageDelta{MessageID: "m1", Text: "a file."},
	domain.MessageCompleted{MessageID: "m1"}, domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1"},
	domain.MessageDelta{MessageID: "m2", Text: "It is empty."}, domain.MessageCompleted{MessageID: "m2"},
	domain.TurnStarted{Turn: 2, Text: "Are you sure?"},
	domain.MessageDelta{MessageID: "m3", Text: "Yes.\n"}, domain.MessageCompleted{MessageID: "m3"},
)

// twoTurnsAgain is how an agent tells them again: in pieces of its own, with things in between that are not in the log.
var twoTurnsAgain = []string{
	userSays("<session_context>today</session_context>"),
	userSays("What is in the folder?"), agentThinks("I "), agentThinks("look."), agentSays("There is a"), agentSays(" file."),
	`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","kind":"read","status":"pending"}`,
	`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}`,
	`{"sessionUpdate":"plan","entries":[]}`,
	userSays("[Function Response: ls]"), agentSays("It is empty. "), userSays("Are you sure?"), agentSays("Yes."),
}

// TestLateReplayTellsNothingTwice: an agent that answers session/load first tells its history later, whenever it comes to
// it. The clock of the test is not a real one.
func TestLateReplayTellsNothingTwice(t *testing.T) {
	for _, test := range []struct {
		name        string
		after       time.Duration // of the answer to session/load
		inTurn, gap int           // updates of the history that come after the prompt; and that come before the answer
	}{
		{"before the answer", 0, 0, len(twoTurnsAgain)},
		{"at once", 0, 0, 0},
		{"after 300 ms", 300 * time.Millisecond, 0, 0},
		{"after 3 s", 3 * time.Second, 0, 0},
		{"after the next prompt", time.Minute, len(twoTurnsAgain), 0},
		{"around the next prompt", time.Minute, 8, 0},
		{"on both sides of the answer", 300 * time.Millisecond, 0, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, outside := &hosttest.Host{}, &hosttest.Host{}
				a := newAgent(Config{}, domain.Opening{Host: outside, AgentSession: "s", Log: twoTurns})
				defer a.stop()
				a.translator.calls.process, a.hello = "p", wire.Object{"agentCapabilities": json.RawMessage(`{"loadSession":true}`)}
				a.translator.calls.distinguish()
				r := newBubble(t, a)
				tell := func(updates []string) {
					for _, update := range updates {
						r.sends(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`)
					}
				}
				early, late := twoTurnsAgain[:test.gap], twoTurnsAgain[test.gap:]
				between, inTurn := late[:len(late)-test.inTurn], late[len(late)-test.inTurn:]
				go func() { // the agent
					load := r.gets()
					tell(early)
					r.answers(load, `{}`)
					time.Sleep(test.after)
					tell(between)
					prompt := r.gets()
					tell(inTurn)
					tell([]string{agentSays("Yes, "), agentSays("it is"), `{"sessionUpdate":"tool_call","toolCallId":"c1","status":"completed"}`})
					r.answers(prompt, `{"stopReason":"end_turn"}`)
				}()
				if err := a.resumeSession(t.Context(), map[string]any{}); err != nil {
					t.Fatal(err)
				}
				a.translator.goLive()
				time.Sleep(test.after)
				synctest.Wait()
				a.translator.begin(host, domain.Prompt{Turn: 3, Text: "Is it still?"})
				if _, err := a.peer.Call(t.Context(), "session/prompt", nil); err != nil {
					t.Fatal(err)
				}
				a.translator.endReplay(true)
				a.translator.end(false)
				host.Finish(t, false)
				want(t, "text", host.Text(), "Yes, it is")
				if calls := hosttest.Of[domain.ToolCallRequested](host); len(calls) != 1 || calls[0].ToolCallID != "c1~p" {
					t.Errorf("calls of the turn: %+v", calls)
				}
				told := append(outside.Payloads(), host.Payloads()...)
				for _, payload := range told {
					switch p := payload.(type) {
					case domain.ThoughtDelta, domain.PlanUpdated:
						t.Errorf("told again: %#v", payload)
					case domain.AgentUpdated:
						if strings.Contains(string(p.Update), "folder") || strings.Contains(string(p.Update), "sure") {
							t.Errorf("told again: %s", p.Update)
						}
					}
				}
				want(t, "texts between the turns", len(hosttest.Of[domain.MessageDelta](outside)), 0)
				want(t, "calls between the turns", len(hosttest.Of[domain.ToolCallRequested](outside)), 0)
			})
		})
	}
}

// loaded is a translation of a session that was loaded and has told nothing again.
func loaded(t testing.TB, log domain.AgentLog, prompt string) translation {
	t.Helper()
	host, outside := &hosttest.Host{}, &hosttest.Host{}
	s := newTranslator(t.Context(), domain.Opening{Host: outside, AgentSession: "s"})
	told, err := readReplay(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	s.beginReplay("s", told)
	s.goLive()
	s.begin(host, domain.Prompt{Turn: 2, Text: prompt})
	return translation{s, host, outside}
}

func (t translation) finishes() string {
	t.endReplay(true)
	t.end(false)
	return t.host.Text()
}

// TestNothingNewIsTakenForAReplay: an agent may say what it has said before, to a prompt that was given before. Whatever it
// says in a turn is told, in its order.
func TestNothingNewIsTakenForAReplay(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	words := []string{"OK", "OK.", " ", "Yes", "I ", "I will", "\n", "."}
	some := func() string {
		var text strings.Builder
		for range 1 + random.IntN(4) {
			text.WriteString(words[random.IntN(len(words))])
		}
		return text.String()
	}
	for range 20_000 {
		prompts := []string{some(), some()}
		answers := []string{some(), some()}
		tr := loaded(t, logOf(prompts[0],
			domain.MessageDelta{MessageID: "m1", Text: answers[0]}, domain.MessageCompleted{MessageID: "m1"},
			domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1"}, domain.TurnStarted{Turn: 2, Text: prompts[1]},
			domain.MessageDelta{MessageID: "m2", Text: answers[1]}, domain.MessageCompleted{MessageID: "m2", Interrupted: random.IntN(2) == 0},
		), prompts[random.IntN(2)])
		if random.IntN(2) == 0 { // some agents tell the prompt that they work on
			tr.hears(userSays(tr.prompt))
		}
		var wanted string
		calls := 0
		for range 1 + random.IntN(5) {
			text := answers[random.IntN(2)]
			if random.IntN(2) == 0 {
				text = some()
			}
			if cut := random.IntN(len(text) + 1); random.IntN(2) == 0 {
				text = text[:cut]
			}
			wanted += text
			tr.hears(agentSays(text))
			if random.IntN(5) == 0 {
				calls++
				tr.hears(`{"sessionUpdate":"tool_call","toolCallId":"c1","status":"completed"}`)
			}
		}
		if got := tr.finishes(); got != wanted {
			t.Fatalf("the log has %q and %q; told %q of %q", answers[0], answers[1], got, wanted)
		}
		if got := len(hosttest.Of[domain.ToolCallRequested](tr.host)); got != calls {
			t.Fatalf("%d calls of %d are told", got, calls)
		}
	}
}

// The whole of it may look like a replay: then it is told at the end of the turn, twice perhaps.
func TestAnswerThatIsAllReplayIsTold(t *testing.T) {
	tr := loaded(t, twoTurns, "Say it again, please.").hears(userSays("Are you sure?"), agentSays("Yes."))
	want(t, "told at once", tr.host.Text(), "")
	want(t, "told in the end", tr.finishes(), "Yes.")
}

// A question about a call is told behind what was said before it, also where that was held back.
func TestWhatIsHeldBackKeepsItsPlace(t *testing.T) {
	tr := loaded(t, twoTurns, "And now?").hears(userSays("What is in the folder?"), agentSays("There is"))
	want(t, "told while it may be told again", tr.host.Text(), "")
	tr.ask("", wire.ReadObject(json.RawMessage(`{"toolCallId":"new"}`)), nil)
	want(t, "told before the question", tr.host.Text(), "There is")
	tr.hears(agentSays(" more"))
	want(t, "told in the end", tr.finishes(), "There is more")
}
