package llm_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm"
)

const benchWaiting = 2000 // agents

// BenchmarkWaiting is what an agent holds while a person thinks about one of its calls: of the heap, and of stacks. Executions wait
// for days, and there may be very many; what is left over of the request or of the answer would be multiplied by all of them.
func BenchmarkWaiting(b *testing.B) {
	for name, replies := range benchReplies {
		b.Run(name, func(b *testing.B) {
			registry := benchRegistry(b, name, replies.called)
			for b.Loop() {
				heap, stacks := benchWait(b, registry)
				b.ReportMetric(heap, "heapB/agent")
				b.ReportMetric(stacks, "stackB/agent")
			}
		})
	}
}

// benchWait returns the bytes of each agent, of those that wait at once.
func benchWait(b *testing.B, registry *llm.Registry) (heap, stacks float64) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	before := settled()
	var waiting, ended sync.WaitGroup
	waiting.Add(benchWaiting)
	for range benchWaiting {
		agent := benchOpen(b, registry)
		ended.Go(func() { benchPrompt(ctx, agent, pensive{waiting: &waiting}) })
	}
	waiting.Wait()
	after := settled()
	stop()
	ended.Wait()
	return float64(after.HeapAlloc-before.HeapAlloc) / benchWaiting, float64(after.StackInuse-before.StackInuse) / benchWaiting
}

func benchOpen(b *testing.B, registry *llm.Registry) domain.Agent {
	b.Helper()
	agent, err := registry.Open(b.Context(), domain.Opening{Execution: domain.Execution{
		ID: "e", Request: domain.Request{Source: domain.Source{Model: "bench"}, Capabilities: domain.DefaultCapabilities},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return agent
}

func benchPrompt(ctx context.Context, agent domain.Agent, host domain.Host) {
	_, err := agent.Prompt(ctx, host, domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: "Go"}}})
	if ctx.Err() == nil {
		panic(err) // nobody would come to the end of the wait
	}
}

// settled is the memory without what nobody holds any more. A stack gives back half of itself each time.
func settled() (stats runtime.MemStats) {
	for range 5 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats
}

// pensive is a host that never comes to a decision.
type pensive struct {
	uninterested

	waiting *sync.WaitGroup
}

func (p pensive) Authorize(ctx context.Context, _ domain.ToolCall) (domain.Grant, error) {
	p.waiting.Done()
	<-ctx.Done()
	return domain.Grant{}, ctx.Err()
}
