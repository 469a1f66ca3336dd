package acp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

const usageOfATurn = `{"stopReason":"end_turn","usage":{"totalTokens":12,"inputTokens":10,"outputTokens":2,"thoughtTokens":1,"cachedReadTokens":4,"cachedWriteTokens":0}}`

// lastUsage is what the host was told last.
func lastUsage(t testing.TB, tr translation) domain.Usage {
	t.Helper()
	told := hosttest.Of[domain.UsageUpdated](tr.host)
	if len(told) == 0 {
		t.Fatal("no usage was told")
	}
	return told[len(told)-1].Usage
}

func TestUsageIsASumOverTurns(t *testing.T) {
	tr := newTranslation(t, domain.Opening{Execution: domain.Execution{Usage: domain.Usage{InputTokens: new(int64(100)), Cost: new(0.5)}}})
	tr.result(json.RawMessage(usageOfATurn))
	tr.hears(`{"sessionUpdate":"usage_update","used":18,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}`)
	tr.hears(`{"sessionUpdate":"usage_update","used":20,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}`)
	tr.result(json.RawMessage(usageOfATurn))
	wanted := domain.Usage{
		InputTokens: new(int64(120)), OutputTokens: new(int64(4)), ReasoningTokens: new(int64(2)), CacheReadTokens: new(int64(8)),
		CacheWriteTokens: new(int64(0)), TotalTokens: new(int64(24)), ContextUsed: new(int64(20)), ContextSize: new(int64(1000)),
		Cost: new(1.0),
	}
	if diff := cmp.Diff(wanted, lastUsage(t, tr)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	want(t, "updates that were kept", len(hosttest.Of[domain.AgentUpdated](tr.host)), 4)
}

// TestUsageInTheMetaOfAResult: Gemini CLI tells it nowhere else.
func TestUsageInTheMetaOfAResult(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	for range 2 {
		tr.result(json.RawMessage(`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":400,"output_tokens":6}}}}`))
	}
	tr.result(json.RawMessage(`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":0,"output_tokens":0}}}}`))
	usage := lastUsage(t, tr)
	want(t, "input", *usage.InputTokens, 800)
	want(t, "output", *usage.OutputTokens, 12)
}

// TestUsageInTheMetaOfAChunk: Qwen Code tells it nowhere else, for each answer of the model. Where the turn's is told, too,
// that counts.
func TestUsageInTheMetaOfAChunk(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	for range 2 {
		tr.hears(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":400,"outputTokens":6}}}`)
	}
	want(t, "input", *lastUsage(t, tr).InputTokens, 800)
	tr.result(json.RawMessage(usageOfATurn))
	want(t, "input of the turn", *lastUsage(t, tr).InputTokens, 10)
}

// TestZerosAreUnknown: many agents send zeros because they do not count.
func TestZerosAreUnknown(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.result(json.RawMessage(`{"stopReason":"end_turn","usage":{"totalTokens":0,"inputTokens":0,"outputTokens":0}}`))
	tr.hears(`{"sessionUpdate":"usage_update","used":0,"size":0,"cost":{"amount":0}}`, `{"sessionUpdate":"usage_update","used":"many"}`)
	tr.extension("codex/tokenUsage", json.RawMessage(`{"total":{"inputTokens":0}}`))
	if told := hosttest.Of[domain.UsageUpdated](tr.host); len(told) != 0 {
		t.Errorf("usage was told: %+v", told)
	}
	want(t, "updates that were kept", len(hosttest.Of[domain.AgentUpdated](tr.host)), 4)
}

// TestStatedSumsAreNotAddedToTurns: both count the same tokens.
func TestStatedSumsAreNotAddedToTurns(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.extension("codex/tokenUsage", json.RawMessage(`{"tokenUsage":{"total":{"inputTokens":7}}}`))
	tr.extension("codex/tokenUsage", json.RawMessage(`{"tokenUsage":{"total":{"inputTokens":9}}}`))
	want(t, "stated", *lastUsage(t, tr).InputTokens, 9)
	tr.result(json.RawMessage(usageOfATurn))
	want(t, "of the turn", *lastUsage(t, tr).InputTokens, 10)

	// A session that is resumed states what it used before, too.
	tr = newTranslation(t, domain.Opening{AgentSession: "s", Execution: domain.Execution{Usage: domain.Usage{InputTokens: new(int64(5)), Cost: new(1.0)}}})
	tr.extension("codex/tokenUsage", json.RawMessage(`{"tokenUsage":{"total":{"inputTokens":9}}}`))
	tr.hears(`{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1.5}}`)
	want(t, "of the session", *lastUsage(t, tr).InputTokens, 9)
	want(t, "cost of the session", *lastUsage(t, tr).Cost, 1.5)
}

func TestResultIsKeptWhereItSaysMore(t *testing.T) {
	tr := newTranslation(t, domain.Opening{})
	tr.result(json.RawMessage(`{"stopReason":"end_turn"}`))
	tr.result(json.RawMessage(`{"stopReason":"end_turn","_meta":{"quota":{"limit":3}}}`))
	tells(t, tr.host, `agent.updated {"kind":"promptResult","update":{"_meta":{"quota":{"limit":3}},"stopReason":"end_turn"}}`)
}
