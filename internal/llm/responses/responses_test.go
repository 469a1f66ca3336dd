package responses

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

var entry = provider.Model{Name: "suite", Provider: Name, Model: "gpt-5.2", BaseURL: "http://vendor.test/v1", APIKey: providertest.Key}

// The items of an answer with two calls, as the vendor writes them.
const (
	reasoned = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA<&>=="}`
	spoken   = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look.","annotations":[]}]}`
	called   = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_A","name":"bash","arguments":"{\"command\": \"ls\"}"}`
	calledB  = `{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_B","name":"bash","arguments":"{}"}`
)

// ask sends messages and returns the input that the vendor was sent, and the answer.
func ask(t *testing.T, messages []domain.Message, events ...string) ([]string, provider.Answer) {
	t.Helper()
	var sent struct {
		Input    []json.RawMessage
		CacheKey string `json:"prompt_cache_key"`
	}
	vendor := providertest.Reply(func(request *http.Request) (*http.Response, error) {
		read, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(read, &sent); err != nil {
			return nil, err
		}
		return providertest.Stream("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")(request)
	})
	got, err := Provider.Open(entry, providertest.Setup(vendor)).Stream(t.Context(), provider.Request{Messages: messages, CacheKey: "e1"}, &providertest.Ear{})
	if err != nil {
		t.Fatal(err)
	}
	if sent.CacheKey != "e1" {
		t.Errorf("the cache key is %q", sent.CacheKey)
	}
	var input []string
	for _, item := range sent.Input {
		input = append(input, string(item))
	}
	return input, got
}

const finished = `{"type":"response.completed","response":{"status":"completed"}}`

func done(item string) string { return `{"type":"response.output_item.done","item":` + item + `}` }

// TestItemsGoBackAsTheyCame: all of them, in their order, with the vendor's ids; the results stand behind all the calls.
func TestItemsGoBackAsTheyCame(t *testing.T) {
	begin := func(item string, index string) string {
		return `{"type":"response.output_item.added","output_index":` + index + `,"item":` + item + `}`
	}
	_, answer := ask(t, nil, done(reasoned), done(spoken), begin(called, "2"),
		`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\": \"ls\"}"}`, done(called),
		begin(calledB, "3"), done(calledB), finished)
	if len(answer.Calls) != 2 || answer.Calls[0].ID != "call_A" || answer.Calls[0].Arguments != `{"command": "ls"}` {
		t.Fatalf("got %+v", answer.Calls)
	}
	remembered := func(maker provider.Maker) domain.Message {
		return domain.Message{Role: domain.RoleAssistant, Text: "I look.", State: provider.StateOfAnswer(maker, answer, []string{"a", "b"}).Encode(),
			ToolCalls: []domain.ToolCall{{ID: "a", Tool: "bash", Arguments: json.RawMessage(`{"command": "pwd"}`)}, {ID: "b", Tool: "bash", Arguments: json.RawMessage(`{}`)}}}
	}
	results := []domain.Message{{Role: domain.RoleTool, ToolCallID: "a", Text: "x"}, {Role: domain.RoleTool, ToolCallID: "b", Text: "y"}}
	user := domain.Message{Role: domain.RoleUser, Text: "Go"}
	for name, test := range map[string]struct {
		maker provider.Maker
		want  []string
	}{
		"its own": {entry.Maker(), []string{
			`{"role":"user","content":"Go"}`, reasoned, spoken, called, calledB,
			`{"type":"function_call_output","call_id":"call_A","output":"x"}`, `{"type":"function_call_output","call_id":"call_B","output":"y"}`,
		}},
		"another's": {"another", []string{
			`{"role":"user","content":"Go"}`, `{"role":"assistant","content":"I look."}`,
			`{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"command\": \"pwd\"}"}`, `{"type":"function_call","call_id":"b","name":"bash","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"a","output":"x"}`, `{"type":"function_call_output","call_id":"b","output":"y"}`,
		}},
	} {
		input, _ := ask(t, append([]domain.Message{user, remembered(test.maker)}, results...), finished)
		if diff := cmp.Diff(test.want, input); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	half := remembered(entry.Maker()) // the conversation has lost a call: reasoning without the item behind it is refused
	half.ToolCalls = half.ToolCalls[:1]
	if input, _ := ask(t, []domain.Message{user, half, results[0]}, finished); strings.Contains(strings.Join(input, ""), "rs_1") {
		t.Errorf("half of the items went back: %q", input)
	}
}

// TestHowAnAnswerEnds: only the vendor's own word ends it well.
func TestHowAnAnswerEnds(t *testing.T) {
	for event, want := range map[string]domain.Code{
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"Oh"}}}`:            domain.CodeModelFailed,
		`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Oh"}}}`: domain.CodeContextOverflow,
		`{"type":"error","code":"rate_limit_exceeded","message":"Oh","param":null}`:                         domain.CodeModelFailed,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"of_the_future"}}}`:       domain.CodeModelStreamBroken,
		`{"type":"response.output_text.done","text":"a"}`:                                                   domain.CodeModelStreamBroken,
	} {
		_, err := Provider.Open(entry, providertest.Setup(providertest.Stream("data: "+event+"\n\n"))).Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
		if domain.CodeOf(err) != want || !provider.ErrorOf(err).Retry && want != domain.CodeContextOverflow && !strings.Contains(event, `"error"`) {
			t.Errorf("%s: %v", event, err)
		}
	}
}
