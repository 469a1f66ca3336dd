package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"signoff/internal/domain"
)

// TestDrainUnderLoad: a server that is told to stop says so, sends its streams away with a hint, is gone in time, and its
// peer goes on with what it drove.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	m := newModel(t, func(a *answer, conversation []message) {
		switch {
		case last(conversation).Role == "tool":
			a.Say(strings.Repeat("word ", 200))
		case last(conversation).Content == "slow":
			a.Bash("until [ -e gate ]; do sleep 0.05; done")
		default:
			a.Bash("true")
		}
	})
	e := engine{url: postgres(t)}
	leaving := up(t, e, m)
	peer := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+leaving.workspace)
	peer.Token = leaving.Token
	peer.start()

	var ids []string
	for range 20 {
		ids = append(ids, leaving.create().ID)
	}
	for _, id := range ids {
		leaving.asked(id, 1)
	}
	goodbyes := leaving.goodbyes(ids)
	// Without a command that runs, all may be handed over before anybody has asked whether the server is ready.
	slow := leaving.create(object{"prompt": "slow"}).ID
	leaving.decide(leaving.asked(slow, 1)[0])
	leaving.reach(slow, domain.StatusExecutingTool)
	began := time.Now()
	must(t, leaving.process.Signal(syscall.SIGTERM))
	unready := leaving.unready()
	must(t, os.WriteFile(filepath.Join(leaving.workspace, gate), nil, 0o600))
	<-leaving.process.Exited()
	if took := time.Since(began); took > 30*time.Second || leaving.process.End().ExitCode() != 0 {
		t.Errorf("it took %s to exit, with %d", took, leaving.process.End().ExitCode())
	}
	if !unready {
		t.Error("it was ready to its end")
	}
	for _, said := range goodbyes() {
		if strings.Count(said, "retry: ") != 2 || !strings.Contains(said, ": the server is stopping") {
			t.Errorf("a stream ends with %q", said[max(0, len(said)-200):])
		}
	}

	began = time.Now()
	for _, id := range ids {
		peer.decide(peer.asked(id, 1)[0])
	}
	for _, id := range ids {
		peer.eventually("a start by the peer", func() bool {
			return len(of[domain.ToolCallStarted](t, peer.page(id))) == 1
		})
	}
	t.Logf("the peer drove all of them after %s", time.Since(began))
	peer.eventually("the end of what ran, however that came out", func() bool {
		peer.approveAll(slow)
		return domain.Status(peer.get(slow).Status).Terminal()
	})
	for _, id := range append(ids, slow) {
		peer.ended(id)
		peer.sound(id)
	}
}

// A server that is told to stop says so, and goes on to serve until those who send it traffic have heard of it. A second signal ends the pause.
func TestDrainDelay(t *testing.T) {
	t.Parallel()
	m := newModel(t, func(a *answer, _ []message) { a.Say("hello") })
	s := up(t, engine{}, m, "SIGNOFF_DRAIN_DELAY_SECONDS=600")
	must(t, s.process.Signal(syscall.SIGTERM))
	s.eventually("not ready", func() bool {
		response, _ := s.do("GET", "/readyz", nil)
		return response.StatusCode == http.StatusServiceUnavailable
	})
	if e := s.ended(s.create().ID); e.Status != "completed" {
		t.Errorf("during the pause an execution ends as %s", e.Status)
	}
	must(t, s.process.Signal(syscall.SIGTERM))
	<-s.process.Exited()

	short := up(t, engine{}, m, "SIGNOFF_DRAIN_DELAY_SECONDS=1")
	must(t, short.process.Signal(syscall.SIGTERM))
	<-short.process.Exited()
	if code := short.process.End().ExitCode(); code != 0 || !strings.Contains(short.stderr.String(), "draining") {
		t.Errorf("after the pause it exits with %d", code)
	}
}

func TestHangupIsIgnored(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, func(a *answer, _ []message) { a.Say("hello") }))
	for range 2 {
		must(t, s.process.Signal(syscall.SIGHUP))
	}
	s.eventually("a line of the log", func() bool { return strings.Contains(s.stderr.String(), "SIGHUP is ignored") })
	if e := s.ended(s.create().ID); e.Status != "completed" {
		t.Errorf("ended as %s", e.Status)
	}
}

// unready tells whether the server said, before it went, that it takes no more traffic.
func (s *server) unready() bool {
	for s.running() {
		response, err := s.try(context.Background(), "GET", "/readyz", nil)
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusServiceUnavailable {
			return true
		}
	}
	return false
}

// goodbyes follows executions, and returns all that their streams said when they are over.
func (s *server) goodbyes(ids []string) func() []string {
	s.t.Helper()
	said := make([]string, len(ids))
	var reading sync.WaitGroup
	for i, id := range ids {
		response, err := s.try(context.Background(), "GET", "/executions/"+id+"/events", nil, headers{"Accept": "text/event-stream"})
		must(s.t, err)
		reading.Go(func() {
			defer response.Body.Close()
			all, _ := io.ReadAll(response.Body) // it says how it ended by what it said
			said[i] = string(all)
		})
	}
	return func() []string { reading.Wait(); return said }
}
