package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

const (
	benchChunks = 10_000 // of an answer
	benchText   = "@1234567890123456789"
)

// BenchmarkFloor is what the others are to be held against, as ratios: the same bytes, read line by line and decoded by
// encoding/json into as little as can be. The others go the whole way from the model's socket to the host.
func BenchmarkFloor(b *testing.B) {
	b.Run(ProviderOpenAI, func(b *testing.B) { benchFloor(b, openAIBenchBody(), readOpenAIFloor) })
	b.Run(ProviderAnthropic, func(b *testing.B) { benchFloor(b, anthropicBenchBody(), readAnthropicFloor) })
}

func BenchmarkOpenAIStream(b *testing.B) {
	benchStream(b, openAIBenchBody(), func(transport http.RoundTripper) provider {
		return newOpenAI("bench", benchModel(), suiteConfig(transport))
	})
}

func BenchmarkAnthropicStream(b *testing.B) {
	benchStream(b, anthropicBenchBody(), func(transport http.RoundTripper) provider {
		return newAnthropic("bench", benchModel(), suiteConfig(transport))
	})
}

// BenchmarkTurn is a whole short execution: the agent is opened, asks once with every tool, and is told eight chunks.
func BenchmarkTurn(b *testing.B) {
	for _, d := range dialects() {
		b.Run(d.name, func(b *testing.B) {
			said := d.wire(append(slices.Repeat([]piece{saying(benchText)}, 8), stopping("stop"))...)
			registry := benchRegistry(b, d.name, func(request *http.Request) (*http.Response, error) { return stream(said)(request) })
			opening := domain.Opening{Execution: domain.Execution{ID: "e", Request: domain.Request{Capabilities: domain.DefaultCapabilities}}}
			prompt := domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: "Go"}}}
			b.ReportAllocs()
			for b.Loop() {
				agent, err := registry.Open(b.Context(), opening)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := agent.Prompt(b.Context(), uninterested{}, prompt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchRegistry(b *testing.B, vendor string, transport reply) *Registry {
	b.Helper()
	known := tools.NewRegistry(
		tools.Bash{}, tools.Read{}, tools.List{}, tools.Search{}, tools.Edit{}, tools.Patch{}, tools.Write{}, tools.Think{}, tools.AskUser{},
		tools.MemoryRead{}, tools.MemoryWrite{}, tools.WebFetch{}, tools.GetRunbookDocument{}, tools.GetBlockDocs{}, tools.GetDefaultShell{},
		tools.SubmitBlocks{},
	)
	model := benchModel()
	model.Provider = vendor
	registry, err := NewRegistry(Config{Models: map[string]Model{"bench": model}, Transport: transport}, known)
	if err != nil {
		b.Fatal(err)
	}
	return registry
}

func benchModel() Model {
	return Model{Model: suiteModel, BaseURL: "http://vendor.test/v1", APIKey: suiteKey}
}

func benchStream(b *testing.B, body string, open func(http.RoundTripper) provider) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		benchAsk(b, open(stream(body)), smallRequest())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}

func benchAsk(b *testing.B, provider provider, question request) {
	b.Helper()
	said := newMessage(b.Context(), uninterested{}, "m1")
	if _, err := provider.Stream(b.Context(), question, said); err != nil || !said.speaking {
		b.Fatalf("it said %d bytes, %v", said.text.Len(), err)
	}
}

// uninterested is a host that takes what it is told.
type uninterested struct{ domain.Host }

func (uninterested) Emit(context.Context, ...domain.Payload) error { return nil }
func (uninterested) Runbook() domain.Runbook                       { return domain.Runbook{} }

func benchFloor(b *testing.B, body string, read func(data []byte) (text string, err error)) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		lines := bufio.NewScanner(strings.NewReader(body))
		said := 0
		for lines.Scan() {
			data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !isData || string(data) == "[DONE]" {
				continue
			}
			text, err := read(data)
			if err != nil {
				b.Fatal(err)
			}
			said += len(text)
		}
		if said != benchChunks*len(benchText) {
			b.Fatalf("it said %d bytes", said)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}

func readOpenAIFloor(data []byte) (string, error) {
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
			FinishReason *string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return "", err
	}
	return chunk.Choices[0].Delta.Content, nil
}

func readAnthropicFloor(data []byte) (string, error) {
	var event struct {
		Type  string `json:"type"`
		Delta struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
	err := json.Unmarshal(data, &event)
	return event.Delta.Text, err
}

func openAIBenchBody() string {
	chunk := `data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1790000000,"model":"bench",` +
		`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
	said := fmt.Sprintf(chunk, `{"content":"`+benchText+`"}`, "null")
	return strings.Repeat(said, benchChunks) + fmt.Sprintf(chunk, "{}", `"stop"`) + "data: [DONE]\n\n"
}

func anthropicBenchBody() string {
	return anthropicWire(append(slices.Repeat([]piece{saying(benchText)}, benchChunks), stopping("stop"))...)
}
