package llm

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/anthropic"
	"signoff/internal/llm/demo"
	"signoff/internal/llm/openai"
	"signoff/internal/llm/provider"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestThinkingOfOldTurnsGoesWithTheirResults: within a turn a provider may insist on it.
func TestThinkingOfOldTurnsGoesWithTheirResults(t *testing.T) {
	answer := func(id string) []domain.Message {
		return []domain.Message{
			{Role: domain.RoleAssistant, State: json.RawMessage(`"` + id + `"`), ToolCalls: []domain.ToolCall{{ID: id, Tool: "bash"}}},
			{Role: domain.RoleTool, ToolCallID: id, Text: strings.Repeat(id, 1000)},
		}
	}
	history := []domain.Message{{Role: domain.RoleUser, Text: "one"}}
	history = append(append(history, answer("a")...), answer("b")...)
	history = append(history, domain.Message{Role: domain.RoleUser, Text: "two"})
	history = append(append(history, answer("c")...), answer("d")...)
	t1 := &conversation{history: history, mask: mask{unmasked{}}, shortened: map[string]shortened{"a": {by: 1}, "c": {by: 1}, "d": {by: 1}}}
	var kept []string
	for _, message := range t1.view() {
		kept = append(kept, string(message.State))
	}
	if got := strings.Join(kept, ","); got != `,,,"b",,,"c",,"d",` {
		t.Errorf("thinking: %s", got)
	}
	if view := t1.view(); !strings.HasPrefix(view[7].Text, "[result of bash, 1,000 bytes") || view[9].Text != strings.Repeat("d", 1000) {
		t.Errorf("results: %.60q and %.60q", view[7].Text, view[9].Text)
	}
	if string(history[1].State) != `"a"` || len(history[2].Text) != 1000 {
		t.Error("the history itself was changed")
	}
}

// TestWhatWasSaidBeforeANudgeIsNotSent: some vendors refuse an answer behind an answer, and others take the first for the beginning of the second.
func TestWhatWasSaidBeforeANudgeIsNotSent(t *testing.T) {
	later := &conversation{
		mask:      mask{unmasked{}},
		generates: true,
		history: []domain.Message{
			{Role: domain.RoleUser, Text: "Write."},
			{Role: domain.RoleAssistant, Text: "Here they are."},
			{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "s1", Tool: toolSubmitBlocks, Arguments: json.RawMessage(`{}`)}}},
			{Role: domain.RoleTool, ToolCallID: "s1", Text: "The person asks for changes."},
			{Role: domain.RoleUser, Text: "Shorter."},
			{Role: domain.RoleAssistant, Text: "As I said."},
			{Role: domain.RoleAssistant, Text: "They are above."},
			{Role: domain.RoleUser, Text: "Where?"},
		},
	}
	var got []string
	for _, message := range later.view() {
		got = append(got, string(message.Role)+" "+message.Text)
	}
	want := []string{"user Write.", "assistant ", "tool The person asks for changes.", "user Shorter.", "assistant They are above.", "user Where?"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// TestOurCallIDsFitEveryVendor: they stand in the log, and go to the vendor as they are.
func TestOurCallIDsFitEveryVendor(t *testing.T) {
	id := "call_" + randomName(20)
	if provider.Word(id) != id {
		t.Errorf("%s becomes %s", id, provider.Word(id))
	}
	if long := provider.Word(strings.Repeat("ä", 100)); long != strings.Repeat("_", 64) {
		t.Errorf("got %s", long)
	}
}

func TestFullAt(t *testing.T) {
	for _, test := range []struct {
		model    Model
		settings *domain.ModelSettings
		want     int64
	}{
		{Model{Provider: openai.Name}, nil, 0},
		{Model{Provider: anthropic.Name}, nil, 0},
		{Model{Provider: openai.Name, ContextWindow: 10_000}, nil, 8000},
		{Model{Provider: openai.Name, ContextWindow: 10_000, MaxOutputTokens: 4000}, nil, 6000},
		{Model{Provider: openai.Name, ContextWindow: 10_000, MaxOutputTokens: 4000}, &domain.ModelSettings{MaxOutputTokens: 3000}, 7000},
		{Model{Provider: anthropic.Name, ContextWindow: 200_000}, nil, 160_000},
		{Model{Provider: anthropic.Name, ContextWindow: 200_000, MaxOutputTokens: 64_000}, nil, 136_000},
		{Model{Provider: anthropic.Name, ContextWindow: 200_000, MaxOutputTokens: 64_000}, &domain.ModelSettings{MaxOutputTokens: 50_000}, 150_000},
	} {
		of, _ := providerOf(test.model.Provider)
		if got := (&candidate{model: test.model, provider: of}).fullAt(domain.Source{Settings: test.settings}); got != test.want {
			t.Errorf("%+v: got %d, want %d", test.model, got, test.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// scripted is a client that gives one answer after the other, and keeps what it was asked.
type scripted struct {
	answers []func(provider.Sink) (provider.Answer, error)
	asked   []provider.Request
}

func (s *scripted) Stream(_ context.Context, asked provider.Request, sink provider.Sink) (provider.Answer, error) {
	s.asked = append(s.asked, asked)
	return s.answers[len(s.asked)-1](sink)
}

func (s *scripted) Probe(context.Context) error { return nil }

// TestThinkingGoesBack: within the turn, and beside the log for what comes after it.
func TestThinkingGoesBack(t *testing.T) {
	parts := []provider.Part{{Kind: "thought", JSON: json.RawMessage(`"signed"`)}}
	model := &scripted{answers: []func(provider.Sink) (provider.Answer, error){
		func(sink provider.Sink) (provider.Answer, error) {
			calls := []provider.Call{{ID: "own", Name: "bash", Arguments: `{"command":"a"}`, State: parts}}
			return provider.Answer{Calls: calls, State: parts}, sink.Thought("Hm.")
		},
		func(sink provider.Sink) (provider.Answer, error) { return provider.Answer{}, sink.Text("ok") },
	}}
	registry, err := NewRegistry(Config{Models: map[string]Model{"x": {Provider: demo.Name}}}, tools.NewRegistry(tools.Bash{}))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := registry.Open(t.Context(), domain.Opening{Execution: domain.Execution{
		Request: domain.Request{Source: domain.Source{Model: "x"}, Capabilities: domain.DefaultCapabilities},
	}})
	if err != nil {
		t.Fatal(err)
	}
	opened.(*agent).models.candidates[0].client = model
	host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Message: "denied"}, nil
	}}
	prompt := domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: "Go"}}}
	if _, err := opened.Prompt(t.Context(), host, prompt); err != nil {
		t.Fatal(err)
	}
	got := model.asked[1].Messages[1]
	maker := opened.(*agent).models.asked().model.Maker()
	state := provider.State{Maker: maker, Parts: parts, Calls: []provider.CallState{{CallID: got.ToolCalls[0].ID, ModelID: "own", Made: `{"command":"a"}`, Parts: parts}}}
	if diff := cmp.Diff(state, maker.StateOf(got)); diff != "" || got.Thought != "Hm." {
		t.Errorf("sent back: %q (-want +got):\n%s", got.Thought, diff)
	}
	message := hosttest.Of[domain.ThoughtCompleted](host)[0].MessageID
	if diff := cmp.Diff([]domain.AnswerState{{MessageID: message, State: state.Encode()}}, host.States()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestTheLargestComeDown to one size; the small ones stay as they are.
func TestTheLargestComeDown(t *testing.T) {
	for _, test := range []struct {
		sizes      []int
		save, want int
	}{
		{[]int{100_000}, 40_000, 60_000},
		{[]int{10_000, 100_000, 20_000}, 40_000, 60_000},
		{[]int{10_000, 100_000, 80_000}, 60_000, 60_000},
		{[]int{10_000, 9000, 8000}, 12_000, 5000},
		{[]int{10_000, 9000, 8000}, 1 << 40, leastKept},
		{nil, 10, leastKept},
	} {
		var results []latest
		for _, size := range test.sizes {
			results = append(results, latest{bytes: size})
		}
		if got := levelled(results, test.save); got != test.want {
			t.Errorf("%v less %d: to %d, want %d", test.sizes, test.save, got, test.want)
		}
	}
}

func TestWithoutMiddle(t *testing.T) {
	text := strings.Repeat("ä", 5000)
	got := withoutMiddle(text, 3001)
	head, rest, _ := strings.Cut(got, "\n\n[… ")
	note, tail, found := strings.Cut(rest, "…]\n\n")
	if !found || head != strings.Repeat("ä", 1000) || tail != strings.Repeat("ä", 500) || !strings.HasPrefix(note, "7,000 bytes") {
		t.Errorf("got %d and %d bytes around %q", len(head), len(tail), note)
	}
}

// TestPicturesFillTheWindow, before a provider has counted them: their bytes are not in the text.
func TestPicturesFillTheWindow(t *testing.T) {
	said := domain.Message{Role: domain.RoleUser, Text: "Look."}
	words := guess(said)
	said.Parts = []domain.PromptPart{{Type: domain.PartText, Text: "Look."}, {Type: domain.PartImage, Size: 6 << 20}}
	picture := guess(said) - words
	said.Parts = append(said.Parts, domain.PromptPart{Type: domain.PartFile, MediaType: domain.MediaPDF, Size: 1 << 20})
	document := guess(said) - words - picture
	if picture != 1600 || document != 1600+(1<<20)/32 {
		t.Errorf("a picture has %d tokens, a document %d", picture, document)
	}
}

// TestPicturesOfOldResultsGoWithTheirTexts: they are counted, and what is left of a cut result is its line alone.
func TestPicturesOfOldResultsGoWithTheirTexts(t *testing.T) {
	picture := []domain.PromptPart{{Type: domain.PartImage, FileID: "file_1", MediaType: domain.MediaPNG}}
	history := []domain.Message{
		{Role: domain.RoleUser, Text: "one"},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Tool: "read"}}},
		{Role: domain.RoleTool, ToolCallID: "a", Text: "A gauge.", Parts: picture},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "b", Tool: "read"}}},
		{Role: domain.RoleTool, ToolCallID: "b", Text: "Another.", Parts: picture},
	}
	c := &conversation{history: history, mask: mask{unmasked{}}}
	before := c.estimate(c.view())
	done := c.shorten("test", 0)
	view := c.view()
	if before < 2*pictureTokens || done.Results != 1 || before-c.estimate(view) < pictureTokens-100 {
		t.Errorf("%d tokens before, %d after: %+v", before, c.estimate(view), done)
	}
	if view[2].Parts != nil || len(view[4].Parts) != 1 || len(history[2].Parts) != 1 {
		t.Errorf("pictures: %v and %v", view[2].Parts, view[4].Parts)
	}
}

// TestCallsForAModelWithoutTools: the Messages API refuses calls in a conversation where the request has no tools.
func TestCallsForAModelWithoutTools(t *testing.T) {
	view := inWords([]domain.Message{
		{Role: domain.RoleUser, Text: "How full is it?"},
		{Role: domain.RoleAssistant, Text: "I look.", State: json.RawMessage(`"signed"`), ToolCalls: []domain.ToolCall{{ID: "a", Tool: "bash", Arguments: json.RawMessage(`{"command":"df"}`)}}},
		{Role: domain.RoleTool, ToolCallID: "a", Text: "91 %"},
		{Role: domain.RoleAssistant, Text: "Full."},
	})
	want := []domain.Message{
		{Role: domain.RoleUser, Text: "How full is it?"},
		{Role: domain.RoleAssistant, Text: "I look.\n[tool call: bash]\n{\"command\":\"df\"}"},
		{Role: domain.RoleUser, Text: "[result of a tool call]\n91 %"},
		{Role: domain.RoleAssistant, Text: "Full."},
	}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Error(diff)
	}
}
