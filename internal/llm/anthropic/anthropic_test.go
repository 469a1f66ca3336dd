package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
)

const (
	budgetModel   = "claude-sonnet-4-5"
	adaptiveModel = "claude-opus-5"
)

// claude is a client with a script, and what it was asked last.
func claude(model provider.Model, body string) (provider.Client, *sentRequest) {
	sent := &sentRequest{}
	model.Name, model.Provider, model.BaseURL, model.APIKey = "suite", Name, "http://vendor.test/v1", providertest.Key
	return Provider.Open(model, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
		read, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		*sent = sentRequest{}
		if err := json.Unmarshal(read, sent); err != nil {
			return nil, err
		}
		return providertest.Stream(body)(request)
	}))), sent
}

// stateOf is what a message has of the state that this model has made.
func stateOf(model string, parts []provider.Part) json.RawMessage {
	maker := provider.Model{Name: "suite", Provider: Name, BaseURL: "http://vendor.test/v1", Model: model}.Maker()
	return provider.State{Maker: maker, Parts: parts}.Encode()
}

const fineAnswer = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"

// sends returns what the model is sent for messages.
func sends(t *testing.T, model provider.Model, messages ...domain.Message) *sentRequest {
	t.Helper()
	asked, sent := claude(model, fineAnswer)
	question := provider.Request{System: "You are tested.", Messages: messages, Tools: []tools.Definition{tools.Bash{}.Definition(), tools.Read{}.Definition()}}
	if _, err := asked.Stream(t.Context(), question, &providertest.Ear{}); err != nil {
		t.Fatal(err)
	}
	return sent
}

func TestAnthropicRequest(t *testing.T) {
	sent := sends(t, provider.Model{Model: budgetModel, ThinkingTokens: 2000}, domain.Message{Role: domain.RoleUser, Text: "Go"})
	if sent.Model != budgetModel || !sent.Stream || sent.MaxTokens != 2000+defaultMaxOutput {
		t.Errorf("sent %+v", sent)
	}
	if diff := cmp.Diff(map[string]any{"type": "enabled", "budget_tokens": 2000.0}, sent.Thinking); diff != "" {
		t.Errorf("thinking (-want +got):\n%s", diff)
	}
	cached := map[string]string{"type": "ephemeral"}
	if diff := cmp.Diff([]sentBlock{{Type: "text", Text: "You are tested.", Cache: cached}}, sent.System); diff != "" {
		t.Errorf("system (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]sentBlock{{Type: "text", Text: "Go", Cache: cached}}, sent.Messages[0].Content); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	var got, want any
	definition := tools.Bash{}.Definition()
	providertest.Decode(t, sent.Tools[0].Schema, &got)
	providertest.Decode(t, definition.Schema, &want)
	if diff := cmp.Diff(want, got); diff != "" || sent.Tools[0].Description != definition.Description {
		t.Errorf("tool %+v (-want +got):\n%s", sent.Tools[0], diff)
	}
}

func TestAnthropicOutputLimit(t *testing.T) {
	tests := []struct {
		model provider.Model
		want  int
		wrong string
	}{
		{model: provider.Model{}, want: 8192},
		{model: provider.Model{ThinkingTokens: 1024}, want: 9216},
		{model: provider.Model{MaxOutputTokens: 100}, want: 100},
		{model: provider.Model{ContextWindow: 1000}, want: 500},
		{model: provider.Model{ContextWindow: 200_000, MaxOutputTokens: 64_000, ThinkingTokens: 32_000}, want: 64_000},
		{model: provider.Model{ThinkingTokens: 1000}, wrong: "at least 1024"},
		{model: provider.Model{MaxOutputTokens: 2000, ThinkingTokens: 2000}, wrong: "leave none"},
		{model: provider.Model{MaxOutputTokens: 2000, ContextWindow: 2000}, wrong: "leave none"},
	}
	for _, test := range tests {
		err := Provider.Check(test.model)
		switch {
		case test.wrong != "":
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%+v: %v", test.model, err)
			}
		case err != nil || Provider.Reserved(test.model, domain.ModelSettings{}) != test.want:
			t.Errorf("%+v: %d, %v", test.model, Provider.Reserved(test.model, domain.ModelSettings{}), err)
		}
	}
}

// TestAnthropicTakesBothAddresses: the vendor's own tools have the address without the version, ours with it.
func TestAnthropicTakesBothAddresses(t *testing.T) {
	for _, base := range []string{"http://vendor.test", "http://vendor.test/v1"} {
		var asked string
		client := Provider.Open(provider.Model{Model: budgetModel, BaseURL: base}, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
			asked = request.URL.String()
			return providertest.Stream(fineAnswer)(request)
		})))
		if _, err := client.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{}); err != nil || asked != "http://vendor.test/v1/messages" {
			t.Errorf("%s: asked %s, %v", base, asked, err)
		}
		if err := client.Probe(t.Context()); err != nil || asked != "http://vendor.test/v1/models" {
			t.Errorf("%s: a probe asked %s, %v", base, asked, err)
		}
	}
}

// TestAnthropicHeaders: these are all. The vendor refuses a request without its version, and nobody is told of the machine that asks.
func TestAnthropicHeaders(t *testing.T) {
	var got http.Header
	model := provider.Model{Model: budgetModel, BaseURL: "http://vendor.test/v1", APIKey: providertest.Key}
	asked := Provider.Open(model, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
		got = request.Header.Clone()
		request.Header.Set("X-Api-Key", "of a proxy") // must not stay for the next request
		return providertest.Stream(fineAnswer)(request)
	})))
	want := http.Header{
		"Accept": {"text/event-stream"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"},
		"User-Agent": {"signoff"}, "X-Api-Key": {providertest.Key},
	}
	for range 2 {
		if _, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// thinks is one answer with every kind of thought.
var thinks = strings.Join([]string{
	`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"The word is <hunter2> & "}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"日本."}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"sig"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"ned=="}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Grüße."}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"Unsigned."}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"","signature":"late"}}`,
	`{"type":"content_block_stop","index":4}`,
	`{"type":"content_block_start","index":5,"content_block":{"type":"text","text":"I look."}}`,
	`{"type":"content_block_stop","index":5}`,
	`{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}`,
	`{"type":"content_block_stop","index":6}`,
	`{"type":"content_block_start","index":7,"content_block":{"type":"of_the_future","thing":1}}`,
	`{"type":"content_block_delta","index":7,"delta":{"type":"future_delta","thing":1}}`,
	`{"type":"content_block_stop","index":7}`,
	`{"type":"future_event"}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
}, "\n")

func anthropicEvents(lines string) string {
	s := &stream{}
	for line := range strings.Lines(lines) {
		s.event(strings.TrimSpace(line))
	}
	return s.body.String()
}

// TestThoughtsGoBackAsTheyWere: the vendor signs thoughts and refuses a request in which one was touched, so what was
// masked in the log is not what is sent.
func TestThoughtsGoBackAsTheyWere(t *testing.T) {
	asked, _ := claude(provider.Model{Model: budgetModel, ThinkingTokens: 2000}, anthropicEvents(thinks))
	answer, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if err != nil {
		t.Fatal(err)
	}
	remembered := domain.Message{
		Role: domain.RoleAssistant, Text: "Grüße.I look.", Thought: "The word is <[masked]> & 日本.Unsigned.", State: stateOf(budgetModel, answer.State),
		ToolCalls: []domain.ToolCall{{ID: "call_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)}},
	}
	question := []domain.Message{{Role: domain.RoleUser, Text: "Go"}, remembered, {Role: domain.RoleTool, ToolCallID: "call_1", Text: "a.md"}}
	sent := sends(t, provider.Model{Model: budgetModel, ThinkingTokens: 2000}, question...)
	want := []sentBlock{
		{Type: "redacted_thinking", Data: "c2VjcmV0"},
		{Type: "thinking", Thinking: "The word is <hunter2> & 日本.", Signature: "signed=="},
		{Type: "text", Text: "Grüße."},
		{Type: "thinking", Signature: "late"},
		{Type: "text", Text: "I look."},
		{Type: "tool_use", ID: "call_1", Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)},
	}
	if diff := cmp.Diff(want, sent.Messages[1].Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sent.Thinking == nil {
		t.Error("the model does not think on")
	}
}

// TestThoughtsKeepTheirPlaces: redacted or signed, before, between and behind texts and calls, as the log gives them back to another process.
func TestThoughtsKeepTheirPlaces(t *testing.T) {
	const shape = "t r text t r call t call r text t"
	var lines []string
	var want []sentBlock
	calls, text := []domain.ToolCall{}, ""
	for i, kind := range strings.Fields(shape) {
		said := fmt.Sprintf("<%s %d>", kind, i)
		block, sent := "", sentBlock{}
		switch kind {
		case "t":
			block, sent = fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":"sig%d"}`, said, i), sentBlock{Type: "thinking", Thinking: said, Signature: fmt.Sprint("sig", i)}
		case "r":
			block, sent = fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, said), sentBlock{Type: "redacted_thinking", Data: said}
		case "text":
			block, sent = fmt.Sprintf(`{"type":"text","text":%q}`, said), sentBlock{Type: "text", Text: said}
			text += said
		case "call":
			id := fmt.Sprint("toolu_", i)
			block, sent = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"bash","input":{}}`, id), sentBlock{Type: "tool_use", ID: id, Name: "bash", Input: json.RawMessage(`{}`)}
			calls = append(calls, domain.ToolCall{ID: fmt.Sprint("call_", i), Tool: "bash", Arguments: json.RawMessage(`{}`)})
		}
		lines = append(lines, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block), fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
		want = append(want, sent)
	}
	asked, _ := claude(provider.Model{Model: adaptiveModel, ThinkingTokens: 2000},
		anthropicEvents(strings.Join(append(lines, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`), "\n")))
	answer, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if err != nil {
		t.Fatal(err)
	}
	maker := provider.Model{Name: "suite", Provider: Name, BaseURL: "http://vendor.test/v1", Model: adaptiveModel}.Maker()
	said := domain.Message{Role: domain.RoleAssistant, Text: text, ToolCalls: calls,
		State: provider.StateOfAnswer(maker, answer, []string{calls[0].ID, calls[1].ID}).Encode()}
	results := []domain.Message{{Role: domain.RoleTool, ToolCallID: calls[0].ID, Text: "x"}, {Role: domain.RoleTool, ToolCallID: calls[1].ID, Text: "y"}}
	question := append([]domain.Message{{Role: domain.RoleUser, Text: "Go"}, said}, results...)
	sent := sends(t, provider.Model{Model: adaptiveModel, ThinkingTokens: 2000}, question...)
	if diff := cmp.Diff(want, sent.Messages[1].Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Another model gets the texts and calls alone, and thinks on: in this mode an answer need not begin with a thought,
	// https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
	other := sends(t, provider.Model{Model: "claude-sonnet-5", ThinkingTokens: 2000}, question...)
	for _, block := range other.Messages[1].Content {
		if strings.Contains(block.Type, "thinking") {
			t.Errorf("another model is sent %+v", block)
		}
	}
	if other.Thinking["type"] != "adaptive" || len(other.Messages[1].Content) != 3 {
		t.Errorf("another model thinks %v, and is sent %d blocks", other.Thinking, len(other.Messages[1].Content))
	}
}

func TestThinkingMode(t *testing.T) {
	old := func(provider, model string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"provider":%q,"model":%q,"blocks":[{"thinking":"Hm.","signature":"signed"}]}`, provider, model))
	}
	thought := func(json string) []provider.Part { return []provider.Part{{Kind: partThought, JSON: []byte(json)}} }
	own := stateOf(budgetModel, thought(`{"thinking":"Hm.","signature":"signed"}`))
	user := domain.Message{Role: domain.RoleUser, Text: "Go"}
	called := func(thinking json.RawMessage) domain.Message {
		return domain.Message{Role: domain.RoleAssistant, State: thinking, ToolCalls: []domain.ToolCall{{ID: "call_1", Tool: "bash"}}}
	}
	result := domain.Message{Role: domain.RoleTool, ToolCallID: "call_1", Text: "a.md"}
	answered := domain.Message{Role: domain.RoleAssistant, Text: "Done."}
	tests := []struct {
		name     string
		messages []domain.Message
		mode     any
		thoughts int
	}{
		{"no round is open", []domain.Message{user}, "enabled", 0},
		{"its own", []domain.Message{user, called(own), result}, "enabled", 1},
		{"its own, of an earlier version", []domain.Message{user, called(old(Name, budgetModel)), result}, "enabled", 1},
		{"missing", []domain.Message{user, called(nil), result}, nil, 0},
		{"nonsense", []domain.Message{user, called(json.RawMessage(`"x"`)), result}, nil, 0},
		{"of another model", []domain.Message{user, called(stateOf("claude-opus-4-1", thought(`{"thinking":"Hm.","signature":"signed"}`))), result}, nil, 0},
		{"of another provider", []domain.Message{user, called(old("openai", budgetModel)), result}, nil, 0},
		{"missing in an earlier turn", []domain.Message{user, called(nil), result, answered, user, called(own), result}, "enabled", 1},
		{"missing, and the user went on at once", []domain.Message{user, called(nil), result, user}, nil, 0},
		{"only the first answer of a round thinks", []domain.Message{user, called(own), result, called(nil), result}, "enabled", 1},
		{"only a later answer thinks", []domain.Message{user, called(nil), result, called(own), result}, nil, 1},
		{"it spoke first", []domain.Message{user, called(stateOf(budgetModel, thought(`{"afterText":3,"thinking":"Hm.","signature":"signed"}`))), result}, nil, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sent := sends(t, provider.Model{Model: budgetModel, ThinkingTokens: 2000}, test.messages...)
			if sent.Thinking["type"] != test.mode {
				t.Errorf("thinking %v", sent.Thinking)
			}
			var thoughts int
			for _, message := range sent.Messages {
				for _, block := range message.Content {
					thoughts += strings.Count(block.Type, "thinking")
				}
			}
			if thoughts != test.thoughts {
				t.Errorf("%d thoughts went back", thoughts)
			}
		})
	}
	if sent := sends(t, provider.Model{Model: budgetModel}, user); sent.Thinking != nil {
		t.Errorf("nobody asked for thoughts: %v", sent.Thinking)
	}
	sent := sends(t, provider.Model{Model: adaptiveModel, ThinkingTokens: 2000}, user, called(nil), result)
	if diff := cmp.Diff(map[string]any{"type": "adaptive", "display": "summarized"}, sent.Thinking); diff != "" {
		t.Errorf("a newer model (-want +got):\n%s", diff)
	}
}

func TestWhichModelsDecideThemselves(t *testing.T) {
	for name, want := range map[string]bool{
		"claude-3-7-sonnet-20250219": false, "claude-sonnet-4-20250514": false, "claude-opus-4-1-20250805": false,
		"claude-haiku-4-5": false, "claude-sonnet-4-5@20250929": false, "kimi-k2-thinking": false, "claudette-9": false,
		"claude-opus-4-6": true, "claude-opus-4-10": true, "claude-sonnet-5": true, "claude-opus-5-5-20260901": true,
		"claude-mythos-preview": true, "anthropic/claude-opus-4.7": true, "us.anthropic.claude-opus-4-6-v1:0": true,
	} {
		if decidesItself(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestAnthropicConversationIsInOrder: the vendor refuses the whole conversation for one empty text, one result that does
// not stand directly behind its call, or one name with a blank in it.
func TestAnthropicConversationIsInOrder(t *testing.T) {
	calls := []domain.ToolCall{
		{ID: "call_1", Tool: "no such tool!", Arguments: json.RawMessage(`"text"`)},
		{ID: "call_2", Tool: "", Arguments: json.RawMessage(`{"path":"a"}`)},
	}
	sent := sends(t, provider.Model{Model: budgetModel},
		domain.Message{Role: domain.RoleAssistant, Text: "Earlier."},
		domain.Message{Role: domain.RoleUser, Text: "One"},
		domain.Message{Role: domain.RoleAssistant, Text: " \n"},
		domain.Message{Role: domain.RoleUser, Text: "Two"},
		domain.Message{Role: domain.RoleAssistant, Text: "\n", ToolCalls: calls},
		domain.Message{Role: domain.RoleTool, ToolCallID: "call_1"},
		domain.Message{Role: domain.RoleTool, ToolCallID: "call_2", Text: "ok"},
		domain.Message{Role: domain.RoleUser, Text: ""},
		domain.Message{Role: domain.RoleUser, Text: "Three"},
	)
	var got []string
	for _, message := range sent.Messages {
		var parts []string
		for _, block := range message.Content {
			parts = append(parts, strings.TrimSpace(fmt.Sprint(block.Type, " ", block.Text, block.ID, block.ToolUseID, " ", block.Name, string(block.Input), len(block.Content))))
		}
		got = append(got, message.Role+": "+strings.Join(parts, " | "))
	}
	want := []string{
		"user: text (The conversation began before this.) 0",
		"assistant: text Earlier. 0",
		"user: text One 0 | text Two 0",
		`assistant: tool_use call_1 no_such_tool_{"invalid":"text"}0 | tool_use call_2 _{"path":"a"}0`,
		"user: tool_result call_1 0 | tool_result call_2 1 | text Three 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnthropicStopReasons(t *testing.T) {
	for reason, want := range map[string]struct {
		finish provider.Finish
		code   domain.Code
		retry  bool
	}{
		"end_turn": {}, "tool_use": {}, "stop_sequence": {},
		"max_tokens": {finish: provider.FinishLength}, "model_context_window_exceeded": {finish: provider.FinishLength},
		"refusal":         {code: domain.CodeContentFiltered},
		"pause_turn":      {code: domain.CodeModelStreamBroken, retry: true},
		"out_of_patience": {code: domain.CodeModelFailed},
	} {
		asked, _ := claude(provider.Model{Model: budgetModel}, wire(providertest.Saying("a"), providertest.Stopping(reason)))
		got, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
		if want.code == "" && (err != nil || got.Finish != want.finish) || domain.CodeOf(err) != want.code && err != nil {
			t.Errorf("%s: %+v, %v", reason, got, err)
		}
		if want.code != "" && (err == nil || provider.ErrorOf(err).Retry != want.retry) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestAnthropicPingsAndLineEnds(t *testing.T) {
	body := strings.ReplaceAll(wire(providertest.Saying("a"), providertest.Verbatim("event: ping\ndata: {\"type\":\"ping\"}\n\n"), providertest.Saying("b"), providertest.Stopping("stop")), "\n", "\r\n")
	asked, _ := claude(provider.Model{Model: budgetModel}, body)
	ear := &providertest.Ear{}
	if _, err := asked.Stream(t.Context(), providertest.SmallRequest(), ear); err != nil || strings.Join(ear.Texts, "") != "ab" {
		t.Errorf("got %q, %v", ear.Texts, err)
	}
}

// TestUsageIsReportedTwice: at the beginning, and at the end for the whole answer.
func TestUsageIsReportedTwice(t *testing.T) {
	asked, _ := claude(provider.Model{Model: budgetModel}, anthropicEvents(strings.Join([]string{
		`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":null,"output_tokens":1}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":30,"input_tokens":null}}`,
	}, "\n")))
	got, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if err != nil {
		t.Fatal(err)
	}
	want := domain.Usage{InputTokens: new(int64(14)), OutputTokens: new(int64(30)), TotalTokens: new(int64(44)), CacheReadTokens: new(int64(4))}
	if diff := cmp.Diff(want, got.Usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEmptyBlocksAreNotFree: a server that opens blocks for ever would take all memory without saying a word.
func TestEmptyBlocksAreNotFree(t *testing.T) {
	const event = "event: content_block_start\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	asked, _ := claude(provider.Model{Model: budgetModel}, strings.Repeat(event, provider.MaxAnswerBytes/provider.CallBytes+1)+fineAnswer)
	if _, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{}); domain.CodeOf(err) != domain.CodeModelFailed {
		t.Errorf("got %v", err)
	}
}

// TestReasonsOfARefusalAreKeptOnce: a stream that repeats them grows nothing.
func TestReasonsOfARefusalAreKeptOnce(t *testing.T) {
	event := "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber"}}}` + "\n\n"
	asked, _ := claude(provider.Model{Model: adaptiveModel}, event+event)
	_, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if domain.CodeOf(err) != domain.CodeContentFiltered || strings.Count(err.Error(), "cyber") != 1 {
		t.Error(err)
	}
}
