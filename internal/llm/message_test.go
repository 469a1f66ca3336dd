package llm

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"signoff/internal/llm/provider"
	"signoff/internal/tools/hosttest"
)

// TestStateOfAWholeAnswerIsKept, whatever was seen of it; a later turn finds it. Of an answer that was cut off, or says nothing, none is.
func TestStateOfAWholeAnswerIsKept(t *testing.T) {
	parts := []provider.Part{{Kind: "thought", JSON: json.RawMessage(`1`)}}
	for name, said := range map[string]struct {
		says   func(sink provider.Sink) error
		finish provider.Finish
		kept   bool
	}{
		"a text":                            {func(s provider.Sink) error { return s.Text("Yes") }, provider.FinishStop, true},
		"a thought before a text":           {func(s provider.Sink) error { return errors.Join(s.Thought("Hm."), s.Text("Yes")) }, provider.FinishStop, true},
		"a thought behind a text":           {func(s provider.Sink) error { return errors.Join(s.Text("Yes"), s.Thought("Hm.")) }, provider.FinishStop, true},
		"a text that was cut off":           {func(s provider.Sink) error { return s.Text("Yes") }, provider.FinishLength, false},
		"a text that ends in a refusal":     {func(s provider.Sink) error { return s.Text("Yes") }, provider.FinishRefusal, false},
		"a thought and nothing to go on of": {func(s provider.Sink) error { return s.Thought("Hm.") }, provider.FinishStop, false},
	} {
		model := &scripted{}
		for range 3 {
			model.answers = append(model.answers, func(sink provider.Sink) (provider.Answer, error) {
				return provider.Answer{State: parts, Finish: said.finish}, said.says(sink)
			})
		}
		var host *hosttest.Host
		synctest.Test(t, func(t *testing.T) { host = asks(t, model) }) // an answer that says nothing is asked for again
		var kept string
		for _, message := range host.Fold(t).Messages {
			kept += string(message.State)
		}
		want := ""
		if said.kept {
			want = string(provider.State{Maker: provider.Model{Name: "x", Provider: "demo"}.Maker(), Parts: parts}.Encode())
		}
		if kept != want || len(host.States()) > 0 != said.kept {
			t.Errorf("%s: kept %s, want %s", name, kept, want)
		}
	}
}
