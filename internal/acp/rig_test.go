package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/tools/hosttest"
)

// rig is a scripted agent in a process, a host, and what both are made of. Its fields are set before open.
type rig struct {
	testing.TB
	launch  Config
	opening domain.Opening
	host    *hosttest.Host // of the turns
	outside *hosttest.Host // for what is said between them
	agent   *agent
	turns   int
}

// starting is made once: it tries out what works here, which takes a while.
var starting = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	return sandbox.New(context.Background(), sandbox.Config{Mode: sandbox.ModeOff})
})

// newRig has an agent started with these arguments.
func newRig(t testing.TB, arguments ...string) *rig {
	t.Helper()
	starter, err := starting()
	if err != nil {
		t.Fatal(err)
	}
	state, workspace := t.TempDir(), t.TempDir()
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, host: &hosttest.Host{Dir: workspace, Files: os.DirFS(workspace)}, outside: &hosttest.Host{}}
	r.launch = Config{
		Judge: func(settings.Selection, settings.Option, domain.AgentChoice) error { return nil },
		Name:  "scripted", Starter: starter, ClientVersion: "1.2.3",
		Process: sandbox.Process{
			Argv: append([]string{acptest.Build(t), "-state", state}, arguments...),
			Dir:  workspace, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + state},
		},
	}
	r.opening = domain.Opening{Host: r.outside, Execution: domain.Execution{ID: "e", Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP}, Capabilities: domain.DefaultCapabilities, WorkingDirectory: workspace,
	}}}
	return r
}

// selects is what a request selects.
func selects(option, value string) []settings.Selection {
	return []settings.Selection{{Option: option, Value: value, Pointer: "/source/" + option, Level: settings.LevelRequest}}
}

// open opens the agent; the end of the test closes it.
func (r *rig) open() *rig {
	r.Helper()
	if err := r.tryOpen(); err != nil {
		r.Fatal(err)
	}
	return r
}

func (r *rig) tryOpen() error {
	opened, err := Open(r.Context(), r.launch, r.opening)
	if err != nil {
		return err
	}
	r.agent = opened.(*agent)
	r.Cleanup(func() {
		if err := opened.Close(); err != nil {
			r.Error(err)
		}
	})
	return nil
}

// prompt asks for these steps and returns how the turn ended.
func (r *rig) prompt(ctx context.Context, steps ...string) (domain.StopReason, error) {
	return r.say(ctx, acptest.Prompt(steps...))
}

func (r *rig) say(ctx context.Context, text string) (domain.StopReason, error) {
	r.turns++
	return r.agent.Prompt(ctx, r.host, domain.Prompt{Turn: r.turns, Text: text})
}

// runs is a turn of these steps that ends well, with everything closed.
func (r *rig) runs(steps ...string) {
	r.Helper()
	r.goes(steps...)
	r.host.Finish(r, true)
}

// goes is the same for a turn that leaves something to the session.
func (r *rig) goes(steps ...string) {
	r.Helper()
	if stop, err := r.prompt(r.Context(), steps...); stop != domain.StopEndTurn || err != nil {
		r.Fatalf("the turn ended with %q, %v", stop, err)
	}
	r.host.Finish(r, false)
}

// fails wants an error of this code, and returns its message.
func (r *rig) fails(err error, code domain.Code) string {
	r.Helper()
	if domain.CodeOf(err) != code {
		r.Fatalf("got the error %v, want one of code %s", err, code)
	}
	return domain.FailureOf(err).Message
}

// await waits until the host has heard something that fits.
func await[P domain.Payload](r *rig, host *hosttest.Host, fits func(P) bool) P {
	r.Helper()
	end := time.Now().Add(10 * time.Second)
	for time.Now().Before(end) {
		for _, payload := range hosttest.Of[P](host) {
			if fits == nil || fits(payload) {
				return payload
			}
		}
		time.Sleep(2 * time.Millisecond) // the double gives no notification; a test that fails here would fail later
	}
	r.Fatalf("%T did not come", *new(P))
	panic("unreachable")
}

func want[V comparable](t testing.TB, what string, got, wanted V) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

func decoded[V any](t testing.TB, raw []byte) (value V) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value
}

// problem is err as an error with a code.
func problem(t testing.TB, err error) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error with a code", err)
	}
	return e
}
