package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// translation is a translator without a process: updates go in, events come out.
type translation struct {
	*translator
	host, outside *hosttest.Host
}

func newTranslation(t testing.TB, opening domain.Opening) translation {
	host, outside := &hosttest.Host{}, &hosttest.Host{}
	opening.Host = outside
	s := newTranslator(t.Context(), opening)
	s.messages.process, s.calls.process = "p", "p"
	if s.calls.ending != "" {
		s.calls.distinguish()
	}
	s.nameSession("s")
	s.goLive()
	s.begin(host, domain.Prompt{Turn: 1})
	return translation{s, host, outside}
}

func (t translation) hears(updates ...string) translation {
	for _, update := range updates {
		t.update(json.RawMessage(`{"sessionId":"s","update":` + update + `}`))
	}
	return t
}

// told lists the events, one a line: the type and the data without the turn and durations.
func told(t testing.TB, host *hosttest.Host) []string {
	t.Helper()
	var lines []string
	for _, payload := range host.Payloads() {
		event := domain.NewEvent("e", payload)
		data := decoded[map[string]any](t, event.Data)
		delete(data, "turn")
		delete(data, "durationMs")
		encoded, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprint(event.Type, " ", string(encoded))))
	}
	return lines
}

func tells(t testing.TB, host *hosttest.Host, wanted ...string) {
	t.Helper()
	if diff := cmp.Diff(wanted, told(t, host)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

const plainChunk = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"}}`

func TestUpdatesBecomeEvents(t *testing.T) {
	for _, test := range []struct {
		name    string
		updates []string
		wanted  []string
	}{
		{"plain text, with and without an id, is told as text alone", []string{
			plainChunk,
			`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"<b>"}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"!"}}`,
		}, []string{
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"Hi"}`,
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"\u003cb\u003e"}`,
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"!"}`,
		}},
		{"another id, and another kind, is another message", []string{
			`{"sessionUpdate":"agent_message_chunk","messageId":"a","content":{"type":"text","text":"1"}}`,
			`{"sessionUpdate":"agent_message_chunk","messageId":"b","content":{"type":"text","text":"2"}}`,
			`{"sessionUpdate":"agent_thought_chunk","messageId":"b","content":{"type":"text","text":"3"}}`,
		}, []string{
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"1"}`,
			`message.completed {"length":1,"messageId":"t1-1-p"}`,
			`message.delta {"messageId":"t1-2-p","offset":0,"text":"2"}`,
			`message.completed {"length":1,"messageId":"t1-2-p"}`,
			`thought.delta {"messageId":"t1-3-p","offset":0,"text":"3"}`,
		}},
		{"what a chunk has beside its text is kept", []string{
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"_meta":{"a":1}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"y","annotations":{}}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AA=="}}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{}}}`,
		}, []string{
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"x"}`,
			`agent.updated {"kind":"agent_message_chunk","update":{"_meta":{"a":1},"content":{"text":"x","type":"text"},"sessionUpdate":"agent_message_chunk"}}`,
			`message.delta {"messageId":"t1-1-p","offset":0,"text":"y"}`,
			`agent.updated {"kind":"agent_message_chunk","update":{"content":{"annotations":{},"text":"y","type":"text"},"sessionUpdate":"agent_message_chunk"}}`,
			`agent.updated {"kind":"agent_message_chunk","update":{"content":{"data":"AA==","type":"image"},"sessionUpdate":"agent_message_chunk"}}`,
			`agent.updated {"kind":"agent_message_chunk","update":{"_meta":{"usage":{}},"content":{"text":"","type":"text"},"sessionUpdate":"agent_message_chunk"}}`,
		}},
		{"opencode: a call that is announced and fails", []string{
			`{"sessionUpdate":"tool_call","toolCallId":"call_1","title":"bash","kind":"execute","status":"pending","rawInput":{"cwd":"WS"}}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"call_1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"rejected"}}],"rawOutput":{"error":".."}}`,
		}, []string{
			`toolCall.requested {"arguments":{"cwd":"WS"},"class":"execute","messageId":"t1-1-p","summary":"bash","tool":"execute","toolCallId":"call_1"}`,
			`toolCall.reported {"toolCallId":"call_1","update":{"kind":"execute","rawInput":{"cwd":"WS"},"sessionUpdate":"tool_call","status":"pending","title":"bash","toolCallId":"call_1"}}`,
			`toolCall.reported {"toolCallId":"call_1","update":{"content":[{"content":{"text":"rejected","type":"text"},"type":"content"}],"rawOutput":{"error":".."},"sessionUpdate":"tool_call_update","status":"failed","toolCallId":"call_1"}}`,
			`toolCall.started {"allowedBy":"agent","arguments":{"cwd":"WS"},"toolCallId":"call_1"}`,
			`toolCall.completed {"error":{"code":"toolFailed","message":"The agent reports that it failed."},"outcome":"failed","output":"rejected","toolCallId":"call_1"}`,
		}},
		{"a call that nobody announced, with codex2's output", []string{
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","_meta":{"terminal_output_delta":{"data":"ran\n"},"terminal_exit":{"exit_code":0}}}`,
		}, []string{
			`toolCall.requested {"arguments":{},"class":"other","messageId":"t1-1-p","summary":"other","tool":"other","toolCallId":"c"}`,
			`toolCall.reported {"toolCallId":"c","update":{"_meta":{"terminal_exit":{"exit_code":0},"terminal_output_delta":{"data":"ran\n"}},"sessionUpdate":"tool_call_update","status":"completed","toolCallId":"c"}}`,
			`toolCall.started {"allowedBy":"agent","arguments":{},"toolCallId":"c"}`,
			`toolCall.completed {"exitCode":0,"outcome":"succeeded","output":"ran\n","toolCallId":"c"}`,
		}},
		{"plans are read leniently", []string{
			`{"sessionUpdate":"plan","entries":[{"content":"first","priority":"medium","status":"in_progress"},{"content":7},"x"]}`,
			`{"sessionUpdate":"plan","entries":"none"}`,
		}, []string{
			`plan.updated {"entries":[{"content":"first","priority":"medium","status":"in_progress"},{"content":"","priority":"","status":""}],"update":{"entries":[{"content":"first","priority":"medium","status":"in_progress"},{"content":7},"x"],"sessionUpdate":"plan"}}`,
			`plan.updated {"entries":[],"update":{"entries":"none","sessionUpdate":"plan"}}`,
		}},
		{"modes, by both names and by a config option", []string{
			`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`,
			`{"sessionUpdate":"current_mode_update","modeId":"code"}`,
			`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"plan","options":[]}]}`,
			`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"plan","options":[]},{"type":"new"}]}`,
		}, []string{
			`agent.modeChanged {"mode":"plan","update":{"currentModeId":"plan","sessionUpdate":"current_mode_update"}}`,
			`agent.optionsUpdated {"options":[{"category":"mode","choices":[],"current":"plan","id":"mode"}]}`,
			`agent.modeChanged {"mode":"code","update":{"modeId":"code","sessionUpdate":"current_mode_update"}}`,
			`agent.optionsUpdated {"options":[{"category":"mode","choices":[],"current":"code","id":"mode"}]}`,
			`agent.modeChanged {"mode":"plan","update":{"configOptions":[{"category":"mode","currentValue":"plan","id":"mode","options":[],"type":"select"}],"sessionUpdate":"config_option_update"}}`,
			`agent.optionsUpdated {"options":[{"category":"mode","choices":[],"current":"plan","id":"mode"}]}`,
			`agent.updated {"kind":"config_option_update","update":{"configOptions":[{"category":"mode","currentValue":"plan","id":"mode","options":[],"type":"select"},{"type":"new"}],"sessionUpdate":"config_option_update"}}`,
		}},
		{"commands, and kinds that are passed on", []string{
			`{"sessionUpdate":"available_commands_update","availableCommands":[]}`,
			`{"sessionUpdate":"session_info_update","title":"T"}`,
			`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"u"}}`,
			`{"sessionUpdate":"notice","level":"warn"}`,
		}, []string{
			`agent.commandsUpdated {"update":{"availableCommands":[],"sessionUpdate":"available_commands_update"}}`,
			`agent.updated {"kind":"session_info_update","update":{"sessionUpdate":"session_info_update","title":"T"}}`,
			`agent.updated {"kind":"user_message_chunk","update":{"content":{"text":"u","type":"text"},"sessionUpdate":"user_message_chunk"}}`,
			`agent.updated {"kind":"notice","update":{"level":"warn","sessionUpdate":"notice"}}`,
		}},
		{"what cannot be read kills nothing", []string{
			`"text"`, `{"sessionUpdate":7}`, `{"sessionUpdate":"tool_call","title":"x"}`, `{"sessionUpdate":"current_mode_update"}`,
		}, []string{
			`agent.updated {"kind":"malformed","update":{"sessionId":"s","update":"text"}}`,
			`agent.updated {"kind":"malformed","update":{"sessionUpdate":7}}`,
			`agent.updated {"kind":"malformed","update":{"sessionUpdate":"tool_call","title":"x"}}`,
			`agent.updated {"kind":"malformed","update":{"sessionUpdate":"current_mode_update"}}`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := newTranslation(t, domain.Opening{}).hears(test.updates...)
			tells(t, tr.host, test.wanted...)
			tr.host.Finish(t, false)
		})
	}
}

func TestMalformedIsBounded(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.update(json.RawMessage(`{"sessionId":"s","update":"` + strings.Repeat("x", 1<<20) + `"}`))
	tr.update(nil)
	updates := hosttest.Of[domain.AgentUpdated](tr.host)
	if len(updates) != 2 || len(updates[0].Update) > malformedBytes+100 || string(updates[1].Update) != "null" {
		t.Errorf("got %d updates of %d bytes", len(updates), len(updates[0].Update))
	}
}

func TestCallIDsAreNeverUsedTwice(t *testing.T) {
	call := func(id, kind, status string) string {
		return fmt.Sprintf(`{"sessionUpdate":%q,"toolCallId":%q,"status":%q}`, kind, id, status)
	}
	ids := func(tr translation) (ids []string) {
		for _, requested := range hosttest.Of[domain.ToolCallRequested](tr.host) {
			ids = append(ids, requested.ToolCallID)
		}
		return ids
	}
	updates := []string{
		call("1", "tool_call", "completed"), call("1", "tool_call_update", "completed"), // the second is a late report
		call("1", "tool_call", "pending"), call("1", "tool_call", "pending"), // announced twice
		call("1", "tool_call_update", "completed"), call("1", "tool_call", "pending"),
	}
	fresh := newTranslation(t, domain.Opening{}).hears(updates...)
	fresh.host.Finish(t, false)
	want(t, "ids", fmt.Sprint(ids(fresh)), "[1 1~2 1~3]")
	for name, opening := range map[string]domain.Opening{
		"continued": {AgentSession: "s"},
		"later":     {Execution: domain.Execution{Turn: 2}},
		"recovered": {Earlier: true},
	} {
		later := newTranslation(t, opening).hears(updates...)
		want(t, name, fmt.Sprint(ids(later)), "[1~p 1~p~2 1~p~3]")
	}
	third := newTranslation(t, domain.Opening{})
	third.prompted = false
	third.begin(third.host, domain.Prompt{Turn: 3})
	want(t, "a process that begins with a later turn", fmt.Sprint(ids(third.hears(updates[0]))), "[1~p]")
	second := newTranslation(t, domain.Opening{})
	second.end(false)
	second.begin(second.host, domain.Prompt{Turn: 2})
	want(t, "the second turn of one process", fmt.Sprint(ids(second.hears(updates[0]))), "[1]")
	long := newTranslation(t, domain.Opening{}).hears(call(strings.Repeat("x", 5000), "tool_call", ""))
	if n := len(ids(long)[0]); n > 200 {
		t.Errorf("an id has %d bytes", n)
	}
}

func TestToolNames(t *testing.T) {
	for update, wanted := range map[string]string{
		`{"toolCallId":"c","title":"Run ls","kind":"execute"}`:                                       "execute",
		`{"toolCallId":"c","title":"Run ls","kind":"execute","name":"bash"}`:                         "bash",
		`{"toolCallId":"c","kind":"other","_meta":{"claudeCode":{"toolName":"AskUserQuestion"}}}`:    "AskUserQuestion",
		`{"toolCallId":"c","kind":"other","name":"x","_meta":{"toolName":"y","z":{"toolName":"w"}}}`: "y",
		`{"toolCallId":"c"}`: "other",
	} {
		want(t, update, toolName(wire.ReadObject(json.RawMessage(update))), wanted)
	}
}

func TestOutputOfACall(t *testing.T) {
	for update, wanted := range map[string]string{
		`{"content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"diff","path":"p"},{"type":"content","content":{"type":"text","text":"b"}}]}`: "a\nb",
		`{"rawOutput":"text"}`:                                               "text",
		`{"rawOutput":{"output":"o","metadata":{}}}`:                         "o",
		`{"rawOutput":{"x":1}}`:                                              `{"x":1}`,
		`{"content":[{"type":"diff","path":"p"}],"rawOutput":{"error":"e"}}`: "e",
		`{"content":[]}`:                                                     "",
	} {
		got, told := outputOf(wire.ReadObject(json.RawMessage(update)))
		want(t, update, got, wanted)
		want(t, update+" told", told, true)
	}
	if _, told := outputOf(wire.Object{}); told {
		t.Error("an update without output tells none")
	}
	short, truncated := shortened(strings.Repeat("ä", outputBytes))
	if !truncated || len(short) > outputBytes || !strings.Contains(short, "bytes left out here") || strings.Contains(short, "\uFFFD") {
		t.Errorf("got %d bytes, %v", len(short), truncated)
	}
	// Content is replaced, and what a later update does not mention is unchanged.
	text := func(s string) string {
		return `"content":[{"type":"content","content":{"type":"text","text":"` + s + `"}}]`
	}
	tr := newTranslation(t, domain.Opening{}).hears(
		`{"sessionUpdate":"tool_call","toolCallId":"c",`+text("one")+`}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c",`+text("two")+`}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`)
	want(t, "output", hosttest.Of[domain.ToolCallCompleted](tr.host)[0].Output, "two")
}

// TestCallsOfARound: calls belong to the message before them, and what comes after a result is a new answer.
func TestCallsOfARound(t *testing.T) {
	tr := newTranslation(t, domain.Opening{}).hears(plainChunk,
		`{"sessionUpdate":"tool_call","toolCallId":"1"}`, `{"sessionUpdate":"tool_call","toolCallId":"2"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`,
		`{"sessionUpdate":"tool_call","toolCallId":"3"}`)
	var rounds []string
	for _, requested := range hosttest.Of[domain.ToolCallRequested](tr.host) {
		rounds = append(rounds, requested.MessageID)
	}
	want(t, "rounds", fmt.Sprint(rounds), "[t1-1-p t1-1-p t1-2-p]")
}

func TestBetweenTurnsGoesOutside(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.end(false)
	tr.hears(plainChunk)
	tr.begin(tr.host, domain.Prompt{Turn: 2})
	tr.hears(plainChunk)
	tells(t, tr.outside, `message.delta {"messageId":"t0-1-p","offset":0,"text":"Hi"}`, `message.completed {"length":2,"messageId":"t0-1-p"}`)
	tells(t, tr.host, `message.delta {"messageId":"t2-2-p","offset":0,"text":"Hi"}`)
}

func TestEndOfTurnClosesTheMessage(t *testing.T) {
	for cutOff, wanted := range map[bool]string{
		false: `message.completed {"length":2,"messageId":"t1-1-p"}`,
		true:  `message.completed {"interrupted":true,"length":2,"messageId":"t1-1-p"}`,
	} {
		tr := newTranslation(t, domain.Opening{}).hears(plainChunk)
		tr.end(cutOff)
		want(t, "last event", told(t, tr.host)[1], wanted)
	}
}

func TestExtensions(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.extension("codex/rateLimits", json.RawMessage(`{"primary":{"usedPercent":3}}`))
	tr.extension("vendor/x", json.RawMessage(`{"rateLimits":{}}`))
	tr.extension("codex/tokenUsage", json.RawMessage(`{"tokenUsage":{"total":{"inputTokens":7,"outputTokens":0},"modelContextWindow":100}}`))
	tr.extension("qwen/notify/session", json.RawMessage(`{"a":1}`))
	tr.extension("_empty", nil)
	tells(t, tr.host,
		`rateLimit.updated {"limits":[{"resetsAt":null,"usedPercent":3,"window":"primary"}],"update":{"primary":{"usedPercent":3}}}`,
		`rateLimit.updated {"update":{"rateLimits":{}}}`,
		`usage.updated {"usage":{"cacheReadTokens":null,"cacheWriteTokens":null,"contextSize":100,"contextUsed":null,"cost":null,"inputTokens":7,"outputTokens":0,"reasoningTokens":null,"totalTokens":null}}`,
		`agent.updated {"kind":"codex/tokenUsage","update":{"tokenUsage":{"modelContextWindow":100,"total":{"inputTokens":7,"outputTokens":0}}}}`,
		`agent.updated {"kind":"qwen/notify/session","update":{"a":1}}`,
		`agent.updated {"kind":"_empty","update":null}`)
}

func TestForeignSessionsAreShownAFewTimes(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	for range 10 {
		tr.update(json.RawMessage(`{"sessionId":"other","update":` + plainChunk + `}`))
	}
	updates := hosttest.Of[domain.AgentUpdated](tr.host)
	if len(updates) != foreignShown || updates[0].Kind != "foreignSession" || tr.host.Text() != "" {
		t.Errorf("got %v", updates)
	}
}
