package llm

import (
	"encoding/json"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/tools/hosttest"
)

// completed tells the end of an answer that asks for nothing.
func completed(m *message) error {
	return m.host.Emit(m.ctx, m.complete(provider.State{Maker: m.maker, Parts: m.state}.Encode())...)
}

// TestStateOfThoughtsIsKept: the log has it with the thought that it belongs to, and a restart finds it there.
func TestStateOfThoughtsIsKept(t *testing.T) {
	first := []provider.Part{{Kind: "thought", JSON: json.RawMessage(`1`)}}
	state := provider.State{Maker: "x", Parts: first}.Encode()
	host := &hosttest.Host{}
	message := newMessage(t.Context(), host, "x", "m1")
	for _, err := range []error{
		message.Thought("Hm."), message.State(first), message.Text("Yes"),
		message.Thought("Late."), message.State(append(first, first...)), completed(message),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	thoughts := hosttest.Of[domain.ThoughtCompleted](host)
	if len(thoughts) != 2 || string(thoughts[0].Thinking) != string(state) || thoughts[1].Thinking != nil {
		t.Errorf("got %+v", thoughts)
	}
	conversation := host.Fold(t)
	if last := conversation.Messages[len(conversation.Messages)-1]; string(last.Thinking) != string(state) {
		t.Errorf("a restart finds %+v", last)
	}
}

func TestStateWithoutAThoughtToSee(t *testing.T) {
	host := &hosttest.Host{}
	hidden := newMessage(t.Context(), host, "x", "m1")
	_ = hidden.State([]provider.Part{{Kind: "thought", JSON: json.RawMessage(`1`)}})
	if err := completed(hidden); err != nil || len(host.Payloads()) != 0 || hidden.state == nil {
		t.Errorf("a thought that cannot be read: %v, %v", host.Payloads(), err)
	}
	broken := newMessage(t.Context(), host, "x", "m2")
	_ = broken.Thought("Hm.")
	_ = broken.State([]provider.Part{{Kind: "thought", JSON: json.RawMessage(`1`)}})
	if err := broken.interrupt(); err != nil || hosttest.Of[domain.ThoughtCompleted](host)[0].Thinking != nil {
		t.Errorf("an interrupted thought keeps its state: %v, %v", host.Payloads(), err)
	}
}
