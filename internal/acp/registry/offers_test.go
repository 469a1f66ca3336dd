package registry

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// probed is an agent in a registry. Its program is a script that notes each start, and then becomes the scripted agent.
type probed struct {
	testing.TB
	registry *Registry
	program  string
	starts   string // a file with a line for each
	mark     string // in the environment of its processes
}

func newProbed(t testing.TB, agent AgentConfig, arguments ...string) *probed {
	t.Helper()
	p := &probed{TB: t, starts: filepath.Join(t.TempDir(), "starts"), mark: rand.Text()}
	p.program = script(t, "agent", "")
	p.update(arguments...)
	agent.Command, agent.SetEnv = p.program, map[string]string{"PROBED": p.mark}
	p.registry = registry(t, Config{
		Agents: map[string]AgentConfig{"mine": agent}, DataDir: t.TempDir(), PrivateHomes: true, Starter: starterOf(t),
		Lookup: environ(map[string]string{"PATH": os.Getenv("PATH")}),
	})
	return p
}

// update installs the program anew, with other arguments of the scripted agent.
func (p *probed) update(arguments ...string) {
	p.Helper()
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && exec echo 7.7\necho x >> %s\nexec %s %s\n", p.starts, acptest.Build(p), strings.Join(arguments, " "))
	if err := os.WriteFile(p.program, []byte(text), 0o700); err != nil {
		p.Fatal(err)
	}
}

func (p *probed) look(probe bool) AgentDetails {
	p.Helper()
	details, known := p.registry.Agent(p.Context(), "Mine", probe)
	if !known {
		p.Fatal("there is no such agent")
	}
	return details
}

// started is how often the agent was started.
func (p *probed) started() int {
	content, err := os.ReadFile(p.starts)
	if err != nil && !os.IsNotExist(err) {
		p.Fatal(err)
	}
	return strings.Count(string(content), "x")
}

// living are the agent's processes.
func (p *probed) living() (pids []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environment, err := os.ReadFile(folder + "/environ")
		if err == nil && slices.Contains(strings.Split(string(environment), "\x00"), "PROBED="+p.mark) {
			pids = append(pids, filepath.Base(folder))
		}
	}
	return pids
}

// values are what an option lets its user choose.
func values(t testing.TB, offers *settings.Offers, option string) string {
	t.Helper()
	if offers == nil {
		t.Fatal("the offers are not known")
	}
	for _, o := range offers.Options {
		if o.ID == option {
			var all []string
			for _, choice := range o.Choices {
				all = append(all, choice.Value)
			}
			return o.Current + " of " + strings.Join(all, ", ")
		}
	}
	return "none"
}

// TestOffersAreProbed: once for all who ask, in a folder that is thrown away, and nothing of the process is left.
func TestOffersAreProbed(t *testing.T) {
	p := newProbed(t, AgentConfig{Mode: new("code")}, "-modes", "ask,code", "-config", "effort", "-script", `"new: shell pwd > $HOME/folder"`)
	if details := p.look(false); details.Offers != nil || details.Probing || p.started() != 0 {
		t.Fatalf("without leave to probe: %+v, started %d times", details, p.started())
	}
	begun := time.Now()
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			details := p.look(true)
			want(t, "modes", values(t, details.Offers, "mode"), "ask of ask, code")
			want(t, "effort", values(t, details.Offers, "effort"), "low of low, high")
			want(t, "versions", details.Offers.Version+" "+details.Version, "1 7.7")
			if details.Offers.At.Before(begun) || details.Probing || details.Failure != nil {
				t.Errorf("%+v", details)
			}
		})
	}
	callers.Wait()
	want(t, "starts", p.started(), 1)
	if left := p.living(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	home, err := p.registry.prepareHome(p.registry.agents["mine"])
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.ReadFile(filepath.Join(home, "folder"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(folder))); !os.IsNotExist(err) {
		t.Errorf("the folder %q: %v", folder, err)
	}

	p.update("-modes", "ask,plan,code")
	if details := p.look(false); details.Offers != nil {
		t.Errorf("another program has the offers of the last one: %+v", details.Offers)
	}
	want(t, "after an update", values(t, p.look(true).Offers, "mode"), "ask of ask, plan, code")
	want(t, "starts", p.started(), 2)
}

// TestAProbeThatFails says why, is not repeated at once, and leaves nothing behind.
func TestAProbeThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		agent     AgentConfig
		arguments []string
		code      domain.Code
	}{
		"a crash":   {AgentConfig{}, []string{"-crash", "new"}, domain.CodeAgentExited},
		"no answer": {AgentConfig{StartTimeout: time.Second}, []string{"-hang", "new"}, domain.CodeAgentTimedOut},
		"a sign-in": {AgentConfig{}, []string{"-auth", "browser"}, domain.CodeAgentUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProbed(t, c.agent, c.arguments...)
			for range 2 {
				details := p.look(true)
				if details.Offers != nil || details.Failure == nil || details.Failure.Code != c.code {
					t.Errorf("offers %+v, failure %+v", details.Offers, details.Failure)
				}
			}
			if n := p.started(); n > 1 { // none where a busy machine took the whole time to start it
				t.Errorf("it was started %d times", n)
			}
			if left := p.living(); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// TestAProbeEndsWithTheRegistry: whoever stops the server does not wait for an agent that says nothing.
func TestAProbeEndsWithTheRegistry(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p := newProbed(t, AgentConfig{}, "-hang", "initialize")
	ctx, cancel := context.WithCancel(t.Context())
	looked := make(chan AgentDetails, 1)
	go func() {
		details, _ := p.registry.Agent(ctx, "mine", true)
		looked <- details
	}()
	for p.started() == 0 {
		time.Sleep(time.Millisecond) // the script writes a file, and has no other way to say so
	}
	cancel()
	if details := <-looked; !details.Probing || details.Offers != nil {
		t.Errorf("%+v", details)
	}
	p.registry.Close()
	if left := p.living(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// TestOffersOfAnExecution are known without a probe: as they were before anything was chosen. What they have not is refused
// before the start, but for what another model may have.
func TestOffersOfAnExecution(t *testing.T) {
	p := newProbed(t, AgentConfig{}, "-modes", "ask,code", "-models", "m1,m2", "-config", "effort")
	source := func(model string, options map[string]string) domain.Source {
		return domain.Source{Type: domain.SourceACP, Command: "mine", Model: model, Options: options}
	}
	wrong := source("", map[string]string{"effort": "max"})
	want(t, "not known", p.registry.Check(wrong), nil)
	for pointer, refused := range map[string]domain.Source{ // without knowing an offer
		"/source/mode":         {Type: domain.SourceACP, Command: "mine", Mode: "yolo"},
		"/source/options/mode": {Type: domain.SourceACP, Command: "mine", Options: map[string]string{"mode": "bypassPermissions"}},
		"/source/model":        source("m1", map[string]string{"model": "m2"}),
	} {
		if e := problem(t, p.registry.Check(refused)); e.Code != domain.CodeInvalid || e.Details[0].Pointer != pointer {
			t.Errorf("%+v: %+v", refused, e)
		}
	}
	o := opening(t, "Mine", func(r *domain.Request) { r.Source.Mode = "code" })
	o.Host = &hosttest.Host{}
	agent, err := p.registry.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	want(t, "modes", values(t, p.look(false).Offers, "mode"), "ask of ask, code")
	e := problem(t, p.registry.Check(wrong))
	want(t, "code", e.Code, domain.CodeInvalid)
	want(t, "refusal", e.Details[0].Pointer+" "+e.Message, `/source/options/effort The agent does not offer the value "max" of the option "effort". It offers: low, high.`)
	e = problem(t, p.registry.Check(source("m3", nil)))
	want(t, "refusal", e.Details[0].Pointer+" "+e.Message, `/source/model The agent does not offer the model "m3". It offers: m1, m2.`)
	for _, fine := range []domain.Source{source("", nil), source("m2", map[string]string{"effort": "max"}), source("m1", map[string]string{"thought_level": "high"})} {
		if err := p.registry.Check(fine); err != nil {
			t.Errorf("%+v: %v", fine, err)
		}
	}
	p.update("-modes", "ask")
	want(t, "after an update", p.registry.Check(wrong), nil)
	if err := os.Remove(p.program); err != nil {
		t.Fatal(err)
	}
	want(t, "without its program", domain.CodeOf(p.registry.Check(source("", nil))), domain.CodeAgentUnavailable)
}

// TestWhatIsFoundOutHoldsForAWhile, for one program.
func TestWhatIsFoundOutHoldsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, one, two := &probe[string]{}, identity{path: "/a", size: 1}, identity{path: "/a", size: 2}
		asked := 0
		ask := func() {
			<-p.ask(func(f func()) { go f() }, one, func() (string, time.Duration) { asked++; return fmt.Sprint(asked), time.Hour })
		}
		ask()
		is := func(of identity, found string, holds bool) {
			t.Helper()
			got, still := p.last(of)
			want(t, "found", fmt.Sprint(got, still), fmt.Sprint(found, holds))
		}
		is(one, "1", true)
		is(two, "", false)
		time.Sleep(time.Hour)
		is(one, "1", false)
		ask()
		is(one, "2", true)
	})
}
