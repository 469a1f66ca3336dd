package openai

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

// twice has a vendor answer once, and returns the messages of a request that goes on from that answer in the same turn, or after a
// further word of the user.
func twice(t *testing.T, entry provider.Model, later bool, by func(provider.Maker) provider.Maker) []json.RawMessage {
	t.Helper()
	const answer = `data: {"choices":[{"delta":{"reasoning_content":"Hm <"}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"reasoning_content":"&>."}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"own:0","function":{"name":"bash","arguments":"{}"},` +
		`"extra_content":{"google": {"thought_signature":"sig<="}}},{"index":1,"id":"own:1","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n"
	var sent struct {
		Messages      []json.RawMessage
		StreamOptions any `json:"stream_options"`
	}
	asked := Provider.Open(entry, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		sent.StreamOptions = nil
		if err := json.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		return providertest.Stream(answer)(request)
	})))
	got, err := asked.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if err != nil {
		t.Fatal(err)
	}
	messages := []domain.Message{
		{Role: domain.RoleUser, Text: "Go"},
		{Role: domain.RoleAssistant, State: provider.StateOfAnswer(by(entry.Maker()), got, []string{"a", "b"}).Encode(), ToolCalls: []domain.ToolCall{
			{ID: "a", Tool: "bash", Arguments: json.RawMessage(`{}`)}, {ID: "b", Tool: "bash", Arguments: json.RawMessage(`{}`)}}},
		{Role: domain.RoleTool, ToolCallID: "a", Text: "x"}, {Role: domain.RoleTool, ToolCallID: "b", Text: "y"},
	}
	if later {
		messages = append(messages, domain.Message{Role: domain.RoleAssistant, Text: "Done."}, domain.Message{Role: domain.RoleUser, Text: "And?"})
	}
	if _, err := asked.Stream(t.Context(), provider.Request{Messages: messages}, &providertest.Ear{}); err != nil {
		t.Fatal(err)
	}
	if refuses := strings.Contains(entry.BaseURL, "mistral") || strings.Contains(entry.BaseURL, "z.ai"); (sent.StreamOptions == nil) != refuses {
		t.Errorf("%s: stream_options are %v", entry.BaseURL, sent.StreamOptions)
	}
	return sent.Messages
}

// TestWhatGoesBack is each vendor's rule, for its own answer and for another model's, in the turn and after it.
func TestWhatGoesBack(t *testing.T) {
	const (
		call   = `"tool_calls":[{"id":"own:0","function":{"arguments":"{}","name":"bash"},"type":"function"%s},{"id":"own:1","function":{"arguments":"{}","name":"bash"},"type":"function"}]`
		signed = `,"extra_content":{"google": {"thought_signature":"sig<="}}`
		dummy  = `,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`
		hm     = `"reasoning_content":"Hm <&>."`
		empty  = `,"content":""`
	)
	mine := func(maker provider.Maker) provider.Maker { return maker }
	other := func(provider.Maker) provider.Maker { return "another" }
	answer := func(thought, extra string, own bool) string {
		calls := strings.Replace(call, "%s", extra, 1)
		if !own {
			calls = strings.NewReplacer("own:0", "a", "own:1", "b").Replace(calls)
		}
		if thought != "" {
			thought = "," + thought
		}
		return `{` + calls + `,"role":"assistant"` + thought + `}`
	}
	short := strings.NewReplacer(`"a"`, `"`+vendor{shortIDs: true}.wireID("a")+`"`, `"b"`, `"`+vendor{shortIDs: true}.wireID("b")+`"`).Replace
	for address, want := range map[string]struct{ own, later, foreign string }{
		"https://unknown.test/v1":                                 {answer(hm, signed, true), answer("", signed, true), answer("", "", false)},
		"https://generativelanguage.googleapis.com/v1beta/openai": {answer("", signed, true), answer("", signed, true), answer("", dummy, false)},
		"https://api.deepseek.com":                                {answer(hm+empty, signed, true), answer(hm+empty, signed, true), answer(`"reasoning_content":""`+empty, "", false)},
		"https://api.moonshot.ai/v1":                              {answer(hm, signed, true), answer(hm, signed, true), answer(`"reasoning_content":" "`, "", false)},
		"https://api.z.ai/api/paas/v4":                            {answer(hm, signed, true), answer(hm, signed, true), answer("", "", false)},
		"https://api.mistral.ai/v1":                               {answer("", signed, true), answer("", signed, true), short(answer("", "", false))},
	} {
		entry := provider.Model{Name: "suite", Provider: Name, Model: "m", BaseURL: address}
		for name, test := range map[string]struct {
			want  string
			later bool
			by    func(provider.Maker) provider.Maker
		}{"own": {want.own, false, mine}, "later": {want.later, true, mine}, "foreign": {want.foreign, false, other},
			"foreign, later": {strings.Replace(want.foreign, dummy, "", 1), true, other}} {
			got := twice(t, entry, test.later, test.by)
			if diff := cmp.Diff(same(t, test.want), same(t, string(got[2]))); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", address, name, diff)
			}
			wire := []string{"own:0", "own:1"}
			if strings.HasPrefix(name, "foreign") {
				wire = []string{"a", "b"}
			}
			if rules := vendorOf(entry); strings.HasPrefix(name, "foreign") && rules.shortIDs {
				wire = []string{rules.wireID("a"), rules.wireID("b")}
			}
			for i, id := range wire {
				if !strings.Contains(string(got[3+i]), `"tool_call_id":"`+id+`"`) {
					t.Errorf("%s, %s: a result is %s", address, name, got[3+i])
				}
			}
		}
	}
}

func same(t *testing.T, document string) (read any) {
	t.Helper()
	providertest.Decode(t, []byte(document), &read)
	return read
}

func TestPresets(t *testing.T) {
	names := map[string]bool{}
	for _, preset := range Presets() {
		names[preset.Name] = true
		if (preset.Address == "") != preset.NeedsAddress || preset.Open == nil {
			t.Errorf("%+v", preset)
		}
		if got := vendorOf(provider.Model{Provider: preset.Name, BaseURL: "http://gateway.test"}); got.name != preset.Name {
			t.Errorf("%s behind another address has the rules of %q", preset.Name, got.name)
		}
	}
	for _, name := range []string{"gemini", "deepseek", "kimi", "glm", "mistral", "groq", "openrouter", "ollama", "vllm", "lmstudio", "azure"} {
		if !names[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestContentOfChunks: Mistral's thoughts stand in the content, which goes back as it came, to the model that made it.
func TestContentOfChunks(t *testing.T) {
	piece := func(content string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":` + content + `}}]}` + "\n\n"
	}
	thinks := func(text, more string) string {
		return `[{"type":"thinking","thinking":[{"type":"text","text":` + providertest.InJSON(text) + `}]` + more + `}]`
	}
	end := wire(providertest.Stopping("stop"))
	const thought, list = "Hm. <&>", `{"type":"thinking","thinking":[{"type":"text","text":"Hm. <&>"}],"closed":true}`
	for name, test := range map[string]struct{ body, text, thought, list string }{
		"as it is streamed": {
			piece(thinks("Hm.", "")) + piece(thinks(" <&>", "")) + piece(`[{"type":"thinking","thinking":[],"closed":true}]`) + piece(`"Yes"`) + piece(`", no."`),
			"Yes, no.", thought, `[` + list + `,{"type":"text","text":"Yes, no."}]`},
		"at once": {
			piece(`[` + list + `,{"type":"reference","reference_ids":[1]},{"type":"text","text":"Yes"}]`),
			"Yes", thought, `[` + list + `,{"type":"text","text":"Yes"}]`},
		"a thought behind a text": {
			piece(`[{"type":"text","text":"Yes"}]`) + piece(thinks(thought, `,"closed":true`)), "Yes", thought, `[{"type":"text","text":"Yes"},` + list + `]`},
		"signed": {
			piece(thinks("Hm.", "")) + piece(thinks(" <&>", `,"closed":true,"signature":"sig<="`)) + piece(thinks("And.", `,"signature":"sig2"`)) + piece(`"Yes"`),
			"Yes", "Hm. <&>And.", `[{"type":"thinking","thinking":[{"type":"text","text":"Hm. <&>"}],"signature":"sig<=","closed":true},` +
				`{"type":"thinking","thinking":[{"type":"text","text":"And."}],"signature":"sig2"},{"type":"text","text":"Yes"}]`},
		"a text outside of the list": {piece(`"Yes"`) + piece(thinks(thought, "")), "Yes", thought, ""},
		"no thought":                 {piece(`[{"type":"text","text":"Yes"}]`), "Yes", "", ""},
		"nothing that is known":      {piece(`[1,"x",{"type":"thinking","thinking":"x"},{"type":"text","text":5},null]`) + piece(`"Yes"`), "Yes", "", ""},
	} {
		entry := provider.Model{Name: "suite", Provider: "mistral", Model: "m", BaseURL: "https://api.mistral.ai/v1"}
		var sent struct {
			Messages []struct{ Content json.RawMessage }
		}
		asked := Provider.Open(entry, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
			if err := json.NewDecoder(request.Body).Decode(&sent); err != nil {
				return nil, err
			}
			return providertest.Stream(test.body + end)(request)
		})))
		ear := &providertest.Ear{}
		got, err := asked.Stream(t.Context(), providertest.SmallRequest(), ear)
		if heard := ear.All(got); err != nil || strings.Join(heard.Texts, "") != test.text || heard.Thought != test.thought {
			t.Errorf("%s: %v: %+v", name, err, heard)
		}
		if kept := string(provider.Find(got.State, partContent)); kept != test.list {
			t.Errorf("%s: kept %s", name, kept)
		}
		for maker, want := range map[provider.Maker]string{entry.Maker(): test.list, "another": ""} {
			said := domain.Message{Role: domain.RoleAssistant, Text: test.text, State: provider.StateOfAnswer(maker, got, nil).Encode()}
			if _, err := asked.Stream(t.Context(), provider.Request{Messages: []domain.Message{said}}, &providertest.Ear{}); err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = providertest.InJSON(test.text)
			}
			if diff := cmp.Diff(same(t, want), same(t, string(sent.Messages[1].Content))); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, maker, diff)
			}
		}
	}
}
