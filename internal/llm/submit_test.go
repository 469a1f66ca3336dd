package llm_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

const badBlocks = `{"blocks":[{"type":"script","props":{}}]}`

func submits(arguments string) reply {
	return streams(callsTool("submit_blocks", arguments), ends("tool_calls"), done)
}

// generate has a model of the vendor generate blocks.
func generate(t *testing.T, v *vendor, host *hosttest.Host, p domain.Prompt) (domain.StopReason, error) {
	t.Helper()
	e := working(domain.KindGeneration)
	host.Book = e.Request.Runbook
	stop, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), host, p)
	host.Finish(t, err == nil)
	return stop, err
}

func TestBlocksAreHandedIn(t *testing.T) {
	v := &vendor{replies: []reply{streams(
		calls(`{"index":0,"id":"a","function":{"name":"submit_blocks","arguments":`+string(mustJSON(fineBlocks))+`}}`),
		calls(`{"index":1,"id":"b","function":{"name":"get_default_shell","arguments":"{}"}}`),
		calls(`{"index":2,"id":"c","function":{"name":"submit_blocks","arguments":`+string(mustJSON(fineBlocks))+`}}`),
		ends("tool_calls"), done), saysOnly("never")}}
	host := &hosttest.Host{}
	stop, err := generate(t, v, host, prompt("Write."))
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests", len(v.requests()), 1)
	generations := host.Generations()
	want(t, "generations", len(generations), 1)
	want(t, "blocks", string(generations[0].Blocks), `[{"type":"script","props":{"code":"ls"}}]`)
	want(t, "call", generations[0].ToolCallID, hosttest.Of[domain.ToolCallRequested](host)[0].ToolCallID)
	if got := outcomes(host); got != "failed:invalidArguments succeeded" && got != "succeeded failed:invalidArguments" {
		t.Errorf("outcomes of the others: %s", got)
	}
}

func TestBadBlocksGoBack(t *testing.T) {
	v := &vendor{replies: []reply{submits(badBlocks), submits(`{"blocks":"[]"}`), submits(fineBlocks), saysOnly("never")}}
	host := &hosttest.Host{}
	stop, err := generate(t, v, host, prompt("Write."))
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests", len(v.requests()), 3)
	want(t, "outcomes", outcomes(host), "failed:invalidArguments failed:invalidArguments")
	want(t, "generations", len(host.Generations()), 1)
	told := v.requests()[2].body.Messages
	for at, part := range map[int]string{3: "- /blocks/0/props: missing property 'code'", 5: "- /blocks: this is a string"} {
		if !strings.Contains(told[at].Content, part) {
			t.Errorf("the model is told %q", told[at].Content)
		}
	}
}

func TestThreeBadSubmissions(t *testing.T) {
	v := &vendor{replies: []reply{submits(badBlocks)}}
	host := &hosttest.Host{}
	_, err := generate(t, v, host, prompt("Write."))
	want(t, "code", domain.CodeOf(err), domain.CodeGenerationFailed)
	want(t, "requests", len(v.requests()), 3)

	p := prompt("Write.") // a restart in between gives no more attempts
	conversation := host.Fold(t)
	p.History, p.Rounds = append(p.History, conversation.Messages[:4]...), 2
	again := &vendor{replies: []reply{submits(badBlocks)}}
	_, err = generate(t, again, &hosttest.Host{}, p)
	want(t, "code after a restart", domain.CodeOf(err), domain.CodeGenerationFailed)
	want(t, "requests after a restart", len(again.requests()), 1)
}

func TestAModelThatHandsInNothing(t *testing.T) {
	const nudge = "You ended your last answer without handing in anything"
	v := &vendor{replies: []reply{saysOnly("Here they are."), submits(fineBlocks)}}
	host := &hosttest.Host{}
	_, err := generate(t, v, host, prompt("Write."))
	want(t, "error", err, nil)
	requests := v.requests()
	want(t, "requests", len(requests), 2)
	want(t, "messages of the second", len(requests[1].body.Messages), 2)
	if strings.Contains(requests[0].body.Messages[0].Content, nudge) || !strings.Contains(requests[1].body.Messages[0].Content, nudge) {
		t.Error("the model is not told, or told too early")
	}

	silent := &vendor{replies: []reply{saysOnly("Here they are.")}}
	_, err = generate(t, silent, &hosttest.Host{}, prompt("Write."))
	want(t, "code", domain.CodeOf(err), domain.CodeGenerationFailed)
	want(t, "requests", len(silent.requests()), 2)
}

// TestWhatWasSaidBeforeANudgeStaysOut of the turns that come after, too, though the log has it.
func TestWhatWasSaidBeforeANudgeStaysOut(t *testing.T) {
	first := &hosttest.Host{}
	_, err := generate(t, &vendor{replies: []reply{saysOnly("Here they are."), submits(fineBlocks)}}, first, prompt("Write."))
	want(t, "error", err, nil)
	said := first.Fold(t).Messages
	if len(said) != 2 || said[0].Text != "Here they are." {
		t.Fatalf("the log has %+v", said)
	}
	p := domain.Prompt{Turn: 2, Edits: 1, Text: "Shorter.", History: append(append(prompt("Write.").History, said...),
		domain.Message{Role: domain.RoleTool, ToolCallID: said[1].ToolCalls[0].ID, Text: "The person asks for changes."},
		domain.Message{Role: domain.RoleUser, Text: "Shorter."},
	)}
	v := &vendor{replies: []reply{submits(fineBlocks)}}
	_, err = generate(t, v, &hosttest.Host{}, p)
	want(t, "error of the edit", err, nil)
	want(t, "sent", rolesOf(v.requests()[0]), "user assistant tool user")
	want(t, "the answer that is left", len(v.requests()[0].body.Messages[2].ToolCalls), 1)
}

// TestAConversationThatAClientBroughtIsWhole: two answers in a row are no model's silence there.
func TestAConversationThatAClientBroughtIsWhole(t *testing.T) {
	p := domain.Prompt{Turn: 1, History: []domain.Message{
		{Role: domain.RoleUser, Text: "Look."}, {Role: domain.RoleAssistant, Text: "The disk is full."},
		{Role: domain.RoleAssistant, Text: "Done."}, {Role: domain.RoleUser, Text: "And now?"},
	}}
	v := &vendor{replies: []reply{saysOnly("ok")}}
	_, err := open(t, config(v), working(domain.KindAgent), someTools()...).Prompt(t.Context(), &hosttest.Host{}, p)
	want(t, "error", err, nil)
	want(t, "sent", rolesOf(v.requests()[0]), "user assistant assistant user")
}

// rolesOf are the roles of the messages behind the system prompt.
func rolesOf(request asked) string {
	var roles []string
	for _, message := range request.body.Messages[1:] {
		roles = append(roles, message.Role)
	}
	return strings.Join(roles, " ")
}

// TestSilenceBeforeARestart: what the model said instead of handing in is the end of the history.
func TestSilenceBeforeARestart(t *testing.T) {
	p := prompt("Write.")
	p.History = append(p.History, domain.Message{Role: domain.RoleAssistant, Text: "Here they are."})
	v := &vendor{replies: []reply{submits(fineBlocks)}}
	_, err := generate(t, v, &hosttest.Host{}, p)
	want(t, "error", err, nil)
	want(t, "messages", len(v.requests()[0].body.Messages), 2)

	p.History = append(p.History, domain.Message{Role: domain.RoleAssistant, Text: "As I said."})
	never := &vendor{replies: []reply{submits(fineBlocks)}}
	_, err = generate(t, never, &hosttest.Host{}, p)
	want(t, "code", domain.CodeOf(err), domain.CodeGenerationFailed)
	want(t, "requests", len(never.requests()), 0)
}

// TestBlocksAfterARestart: the call is in the history without a result. It hands in once more, which the session knows, and
// the model is not asked.
func TestBlocksAfterARestart(t *testing.T) {
	p := prompt("Write.")
	p.Rounds = 1
	p.History = append(p.History, domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{
		{ID: "s1", Tool: "submit_blocks", Arguments: json.RawMessage(fineBlocks)},
	}})
	v := &vendor{replies: []reply{saysOnly("never")}}
	host := &hosttest.Host{}
	if err := host.Emit(t.Context(), domain.ToolCallRequested{ToolCallID: "s1"}); err != nil {
		t.Fatal(err)
	}
	stop, err := generate(t, v, host, p)
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests", len(v.requests()), 0)
	want(t, "generations", len(host.Generations()), 1)
}

func TestAnEditIsOneRequest(t *testing.T) {
	v := &vendor{replies: []reply{submits(fineBlocks)}}
	p := domain.Prompt{Turn: 2, Edits: 1, Text: "Shorter.", History: []domain.Message{
		{Role: domain.RoleUser, Text: "Write."},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "s1", Tool: "submit_blocks", Arguments: json.RawMessage(fineBlocks)}}},
		{Role: domain.RoleTool, ToolCallID: "s1", Text: "The person asks for changes."},
		{Role: domain.RoleUser, Text: "Shorter."},
	}}
	host := &hosttest.Host{}
	stop, err := generate(t, v, host, p)
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests", len(v.requests()), 1)
	want(t, "generations", len(host.Generations()), 1)
	want(t, "sent", rolesOf(v.requests()[0]), "user assistant tool user")
}

func TestBlocksThatCannotBeTakenEndTheTurn(t *testing.T) {
	lost := domain.Errorf(domain.CodeConflict, "The turn is over.")
	v := &vendor{replies: []reply{submits(fineBlocks)}}
	host := &refusing{err: lost}
	_, err := open(t, config(v), working(domain.KindGeneration), someTools()...).Prompt(t.Context(), host, prompt("Write."))
	want(t, "code", domain.CodeOf(err), domain.CodeConflict)
	want(t, "requests", len(v.requests()), 1)
}

type refusing struct {
	hosttest.Host
	err error
}

func (r *refusing) SubmitBlocks(context.Context, domain.ToolCall, json.RawMessage) error {
	return r.err
}
