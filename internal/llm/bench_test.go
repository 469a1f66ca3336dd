package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

// BenchmarkRequest is a whole question with every tool and an answer of one word, which is what a short turn costs.
func BenchmarkRequest(b *testing.B) {
	for _, d := range dialects() {
		b.Run(d.name, func(b *testing.B) {
			said := d.wire(saying("Yes"), stopping("stop"))
			provider := d.open(reply(func(request *http.Request) (*http.Response, error) { return stream(said)(request) }))
			question := request{
				system:   strings.Repeat("You are measured. ", 300),
				messages: []domain.Message{{Role: domain.RoleUser, Text: "Go"}},
				tools:    benchTools(),
			}
			b.ReportAllocs()
			for b.Loop() {
				benchAsk(b, provider, question)
			}
		})
	}
}

// benchTools are as many as an execution usually has, of the usual size.
func benchTools() (list []tools.Definition) {
	for range 8 {
		list = append(list, tools.Bash{}.Definition())
	}
	return list
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
	return anthropicWire(append(repeatedly(saying(benchText)), stopping("stop"))...)
}

func repeatedly(p piece) (pieces []piece) {
	for range benchChunks {
		pieces = append(pieces, p)
	}
	return pieces
}
