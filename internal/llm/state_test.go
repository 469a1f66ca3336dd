package llm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm/demo"
	"signoff/internal/llm/openai"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/secrets"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// callsWith is an answer with one call and a state.
func callsWith(state string) func(provider.Sink) (provider.Answer, error) {
	return func(provider.Sink) (provider.Answer, error) {
		parts := []provider.Part{{Kind: "x", JSON: domain.Encode(state)}}
		return provider.Answer{State: parts, Calls: []provider.Call{{ID: "own", Name: "bash", Arguments: `{"command":"a"}`}}}, nil
	}
}

func says(text string) func(provider.Sink) (provider.Answer, error) {
	return func(sink provider.Sink) (provider.Answer, error) { return provider.Answer{}, sink.Text(text) }
}

// asks runs one turn of a scripted model.
func asks(t *testing.T, model *scripted) *hosttest.Host {
	t.Helper()
	return asksOn(t, model, []domain.Message{{Role: domain.RoleUser, Text: "Go"}})
}

// openScripted opens an agent that asks a scripted model.
func openScripted(t *testing.T, model *scripted) domain.Agent {
	t.Helper()
	config := Config{Models: map[string]Model{"x": {Provider: demo.Name}}, Masker: secrets.NewMasker("s3cret-value")}
	registry, err := NewRegistry(config, tools.NewRegistry(tools.Bash{}))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := registry.Open(t.Context(), domain.Opening{Execution: domain.Execution{Request: domain.Request{Source: domain.Source{Model: "x"}, Capabilities: domain.DefaultCapabilities}}})
	if err != nil {
		t.Fatal(err)
	}
	opened.(*agent).models.candidates[0].client = model
	return opened
}

// asksOn runs one turn that goes on from a history.
func asksOn(t *testing.T, model *scripted, history []domain.Message) *hosttest.Host {
	t.Helper()
	opened := openScripted(t, model)
	host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Message: "denied"}, nil
	}}
	if stop, err := opened.Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history}); err != nil && stop == "" {
		t.Fatal(err)
	}
	return host
}

// TestStateIsDroppedWhole where it is too large or holds a secret; the log says so, and nothing of it is kept.
func TestStateIsDroppedWhole(t *testing.T) {
	for reason, state := range map[string]string{
		domain.StateTooLarge:    strings.Repeat("x", provider.MaxStateBytes),
		domain.StateHoldsSecret: "It is s3cret-value.",
	} {
		model := &scripted{answers: []func(provider.Sink) (provider.Answer, error){callsWith(state), says("ok")}}
		host := asks(t, model)
		if got := model.asked[1].Messages[1].State; got != nil {
			t.Errorf("%s: sent back %.100s", reason, got)
		}
		dropped := hosttest.Of[domain.ModelStateDropped](host)
		if len(dropped) != 1 || dropped[0].Reason != reason || dropped[0].Model != "x" || dropped[0].MessageID == "" {
			t.Errorf("%s: told %+v", reason, dropped)
		}
		if kept := host.States(); len(kept) != 0 {
			t.Errorf("%s: kept %.100s", reason, kept)
		}
	}
}

// TestARefusalOfSomethingElseKeepsTheState: no request is spent, and no event says that state was dropped.
func TestARefusalOfSomethingElseKeepsTheState(t *testing.T) {
	model := &scripted{answers: []func(provider.Sink) (provider.Answer, error){callsWith("old"), func(provider.Sink) (provider.Answer, error) {
		return provider.Answer{}, refusedWith(t, `{"error":{"message":"Invalid schema for function","code":"invalid_function_parameters"}}`)
	}}}
	host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Message: "denied"}, nil
	}}
	_, err := openScripted(t, model).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: "Go"}}})
	if domain.CodeOf(err) != domain.CodeModelFailed || len(model.asked) != 2 || len(hosttest.Of[domain.ModelStateDropped](host)) != 0 {
		t.Errorf("%d requests: %v", len(model.asked), err)
	}
}

// refused is what a real client answers when the vendor calls a request wrong.
func refused(t *testing.T) error { return refusedWith(t, `{"error":{"message":"Invalid signature"}}`) }

func refusedWith(t *testing.T, said string) error {
	entry := provider.Model{Name: "x", Provider: openai.Name, Model: "m", BaseURL: "http://vendor.test"}
	wrong := openai.Provider.Open(entry, providertest.Setup(providertest.Reply(func(request *http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader(said))
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: body, Request: request}, nil
	})))
	_, err := wrong.Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	return err
}

// statesOf are the first parts of all states of a request.
func statesOf(request provider.Request) (states string) {
	for _, message := range request.Messages {
		var state provider.State
		if json.Unmarshal(message.State, &state) == nil && len(state.Parts) > 0 {
			states += string(state.Parts[0].JSON)
		}
	}
	return states
}

// TestARefusalDropsTheState: the request is sent once more, without it, and later requests have only what came after it, those of another process too.
func TestARefusalDropsTheState(t *testing.T) {
	refuses := func(provider.Sink) (provider.Answer, error) { return provider.Answer{}, refused(t) }
	model := &scripted{answers: []func(provider.Sink) (provider.Answer, error){
		callsWith("old"), refuses, callsWith("new"), says("ok"),
	}}
	host := asks(t, model)
	var sent []string
	for _, request := range model.asked {
		sent = append(sent, statesOf(request))
	}
	if got := strings.Join(sent, ";"); got != `;"old";;"new"` {
		t.Errorf("sent %s", got)
	}
	if dropped := hosttest.Of[domain.ModelStateDropped](host); len(dropped) != 1 || dropped[0].Reason != domain.StateRefused {
		t.Errorf("told %+v", dropped)
	}
	next := &scripted{answers: []func(provider.Sink) (provider.Answer, error){says("ok")}}
	asksOn(t, next, append(host.Fold(t).Messages, domain.Message{Role: domain.RoleUser, Text: "And?"}))
	if got := statesOf(next.asked[0]); got != `"new"` {
		t.Errorf("another process has sent %s", got)
	}
}

// TestWhatIsWrongWithoutStateAsWell is no reason to do without it: the next turn has it again.
func TestWhatIsWrongWithoutStateAsWell(t *testing.T) {
	refuses := func(provider.Sink) (provider.Answer, error) { return provider.Answer{}, refused(t) }
	model := &scripted{answers: []func(provider.Sink) (provider.Answer, error){callsWith("old"), refuses, refuses}}
	opened := openScripted(t, model)
	host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Message: "denied"}, nil
	}}
	history := []domain.Message{{Role: domain.RoleUser, Text: "Go"}}
	if _, err := opened.Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history}); domain.CodeOf(err) != domain.CodeModelFailed {
		t.Fatal(err)
	}
	if got := []string{statesOf(model.asked[1]), statesOf(model.asked[2])}; got[0] != `"old"` || got[1] != "" {
		t.Errorf("sent %q", got)
	}
	history = append(append(history, host.Fold(t).Messages...), domain.Message{Role: domain.RoleUser, Text: "Again"})
	for name, same := range map[string]domain.Agent{"the same process": opened, "another": openScripted(t, nil)} {
		next := &scripted{answers: []func(provider.Sink) (provider.Answer, error){says("ok")}}
		same.(*agent).models.candidates[0].client = next
		same.(*agent).models.lost = nil
		if _, err := same.Prompt(t.Context(), &hosttest.Host{}, domain.Prompt{Turn: 2, History: history}); err != nil {
			t.Fatal(err)
		}
		if got := statesOf(next.asked[0]); got != `"old"` {
			t.Errorf("%s has sent %q", name, got)
		}
	}
}
