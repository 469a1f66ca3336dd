package llm_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
)

// benchReplies is what each vendor says in eight chunks, and how it asks for one call.
var benchReplies = map[string]struct{ said, called reply }{
	"openai": {
		said:   streams(strings.Repeat("data: "+says("@1234567890123456789")+"\n\n", 8), ends("stop"), done),
		called: streams(callsBash(0, "uptime"), ends("tool_calls"), done),
	},
	"anthropic": {
		said: streams(anthropicEvents(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
			strings.Repeat(anthropicEvents(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@1234567890123456789"}}`), 8) +
			anthropicEvents(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`)),
		called: streams(anthropicEvents(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"bash","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"uptime\"}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		)),
	},
}

// BenchmarkTurn is a whole short execution: the agent is opened, asks once with every tool, and is told eight chunks.
func BenchmarkTurn(b *testing.B) {
	for name, replies := range benchReplies {
		b.Run(name, func(b *testing.B) {
			registry := benchRegistry(b, name, replies.said)
			opening := domain.Opening{Execution: domain.Execution{ID: "e", Request: domain.Request{Source: domain.Source{Model: "bench"}, Capabilities: domain.DefaultCapabilities}}}
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

func benchRegistry(b *testing.B, vendor string, replies reply) *llm.Registry {
	b.Helper()
	known := tools.NewRegistry(
		tools.Bash{}, tools.Read{}, tools.List{}, tools.Search{}, tools.Edit{}, tools.Patch{}, tools.Write{}, tools.Think{}, tools.AskUser{},
		tools.MemoryRead{}, tools.MemoryWrite{}, tools.WebFetch{}, tools.GetRunbookDocument{}, tools.GetBlockDocs{}, tools.GetDefaultShell{},
		tools.SubmitBlocks{},
	)
	model := benchModel()
	model.Provider = vendor
	registry, err := llm.NewRegistry(llm.Config{Models: map[string]llm.Model{"bench": model}, Transport: roundTripper(replies), Logger: slog.New(slog.DiscardHandler)}, known)
	if err != nil {
		b.Fatal(err)
	}
	return registry
}

func benchModel() llm.Model {
	return llm.Model{Model: "vendor-model", BaseURL: "http://vendor.test/v1", APIKey: testKey}
}

// uninterested is a host that takes what it is told.
type uninterested struct{ domain.Host }

func (uninterested) Emit(context.Context, ...domain.Payload) error { return nil }
func (uninterested) Runbook() domain.Runbook                       { return domain.Runbook{} }
