package sessions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// choose sends a prompt that sets options.
func (w *world) choose(id domain.ExecutionID, text string, options map[string]string) {
	w.t.Helper()
	prompt := domain.QueuedPrompt{Text: text, Options: options}
	accepted, _, err := w.manager.Prompt(context.Background(), tenant, id, prompt, alice, nil)
	if err != nil || !cmp.Equal(accepted.Options, options) {
		w.t.Fatalf("prompt: %+v, %v", accepted, err)
	}
}

// TestOptionsOfPromptsHold: each is set before its turn and again when the agent is opened, also after a kill; one that the
// agent did not take is not.
func TestOptionsOfPromptsHold(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		heard := make(chan string, 20)
		script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			heard <- fmt.Sprint(t.Prompt.Turn, t.Prompt.Options)
			switch t.Prompt.Text {
			case "refused":
				return "", domain.Invalid("/options/effort", "The agent does not offer it.")
			case "hang":
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn), "done")
		}
		opened := func(external *sessionstest.External, options ...map[string]string) {
			t.Helper()
			if diff := cmp.Diff(domain.ChosenOptions(options), (<-external.Opened).Options); diff != "" {
				t.Errorf("opened with other options (-want +got):\n%s", diff)
			}
		}
		hears := func(wanted string) {
			t.Helper()
			if got := <-heard; got != wanted {
				t.Errorf("the agent heard %s, want %s", got, wanted)
			}
		}
		w, external := abroad(t, s, script)
		id := w.start(outside, keepOpen)
		opened(external)
		hears("1 map[]")
		w.becomes(id, domain.StatusIdle, 1)
		plan, high := map[string]string{"mode": "plan"}, map[string]string{"effort": "high"}
		w.choose(id, "plan it", plan)
		hears("2 map[mode:plan]")
		w.becomes(id, domain.StatusIdle, 2)
		w.choose(id, "refused", map[string]string{"effort": "loud"})
		hears("3 map[effort:loud]")
		w.becomes(id, domain.StatusIdle, 3)
		if len(external.Opened) > 0 {
			t.Error("an agent that only refused an option was opened again")
		}
		w.killed()

		w, external = abroad(t, s, script)
		w.choose(id, "hang", high)
		opened(external, plan)
		hears("4 map[effort:high]")
		w.choose(id, "queued", map[string]string{"mode": "code"})
		w.killed()

		w, external = abroad(t, s, script)
		opened(external, plan) // what the turn that goes on sets may not have been set
		hears("4 map[effort:high]")
		hears("5 map[mode:code]")
		w.becomes(id, domain.StatusIdle, 4)
		w.killed()

		w, external = abroad(t, s, script)
		w.choose(id, "more", nil)
		opened(external, high, map[string]string{"mode": "code"})
		hears("6 map[]")
		w.close(id)
		if started := payloads[domain.TurnStarted](t, w.events(id)); started[4].Options["mode"] != "code" || started[5].Options != nil {
			t.Errorf("%+v", started)
		}
		if queued := payloads[domain.PromptQueued](t, w.events(id)); queued[3].Options["mode"] != "code" {
			t.Errorf("%+v", queued)
		}
	})
}

// TestOptionsThatHoldASecret cannot be masked: the agent would be told something else.
func TestOptionsThatHoldASecret(t *testing.T) {
	external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 20)}
	w := newWorld(t, storetest.SQLite(t), nil, externally(external), func(c *dispatch.Config) { c.Masker = secrets.NewMasker("12345678") })
	id := w.start(outside, keepOpen)
	prompt := domain.QueuedPrompt{Text: "x", Options: map[string]string{"key": "12345678"}}
	if _, _, err := w.manager.Prompt(context.Background(), tenant, id, prompt, alice, nil); domain.CodeOf(err) != domain.CodeSecretExposed {
		t.Errorf("%v", err)
	}
	w.becomes(id, domain.StatusIdle, 1)
	w.close(id)
}
