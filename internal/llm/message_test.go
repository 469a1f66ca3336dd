package llm

import (
	"encoding/json"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// completed tells the end of an answer that asks for nothing.
func completed(m *message) error {
	if err := m.complete(); err != nil {
		return err
	}
	return m.host.Emit(m.ctx, m.end...)
}

// TestStateOfThoughtsIsKept: the log has it with the thought that it belongs to, and a restart finds it there.
func TestStateOfThoughtsIsKept(t *testing.T) {
	state := json.RawMessage(`{"blocks":[1]}`)
	host := &hosttest.Host{}
	message := newMessage(t.Context(), host, "m1")
	for _, err := range []error{
		message.Thought("Hm."), message.Thinking(state), message.Text("Yes"),
		message.Thought("Late."), message.Thinking(json.RawMessage(`{"blocks":[1,2]}`)), completed(message),
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
	if string(message.state) != `{"blocks":[1,2]}` {
		t.Errorf("the turn has %s", message.state)
	}
}

func TestStateWithoutAThoughtToSee(t *testing.T) {
	host := &hosttest.Host{}
	hidden := newMessage(t.Context(), host, "m1")
	_ = hidden.Thinking(json.RawMessage(`{}`))
	if err := completed(hidden); err != nil || len(host.Payloads()) != 0 || hidden.state == nil {
		t.Errorf("a thought that cannot be read: %v, %v", host.Payloads(), err)
	}
	broken := newMessage(t.Context(), host, "m2")
	_ = broken.Thought("Hm.")
	_ = broken.Thinking(json.RawMessage(`{}`))
	if err := broken.interrupt(); err != nil || hosttest.Of[domain.ThoughtCompleted](host)[0].Thinking != nil {
		t.Errorf("an interrupted thought keeps its state: %v, %v", host.Payloads(), err)
	}
}
