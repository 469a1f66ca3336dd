package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// TestKillInTheMiddleOfAStream is the promise that nobody sees an event that a crash can take back.
func TestKillInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		m := newModel(t, nil)
		m.use(func(a *answer, _ []message) {
			if m.requests.Load() > 1 {
				a.Say("The second attempt ", "is whole.")
				return
			}
			for i := 0; ; i++ {
				select {
				case <-a.Gone:
					a.Broken = true
					return
				default:
					a.Say(fmt.Sprintf("piece %d ", i), canary[:i%len(canary)], canary[i%len(canary):])
				}
			}
		})
		s := up(t, e, m)
		id := s.create().ID
		var seen []wireEvent
		ctx, cancel := context.WithTimeout(context.Background(), scenario)
		defer cancel()
		_, _ = s.follow(ctx, id, 0, func(event wireEvent) bool { // it breaks with the server
			seen = append(seen, event)
			if len(seen) == 30 {
				s.kill()
			}
			return true
		})
		if len(seen) < 30 {
			t.Fatalf("only %d events before the kill", len(seen))
		}
		s.start()
		end := s.ended(id)
		log := s.sound(id)
		if len(log) < len(seen) || !equal(seen, log[:len(seen)]) {
			t.Errorf("%d events were seen, and are not the beginning of the log of %d", len(seen), len(log))
		}
		if end.Status != "completed" || end.Output.Text != "The second attempt is whole." {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
	})
}

func TestPendingApprovalSurvivesAKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt; cat ledger.txt")))
		id := s.create().ID
		before := s.asked(id, 1)[0]
		s.kill()
		s.start()
		after := s.asked(id, 1)
		if len(after) != 1 || after[0].ID != before.ID || after[0].ArgumentsHash != before.ArgumentsHash || !after[0].ExpiresAt.Equal(*before.ExpiresAt) {
			t.Fatalf("before %+v, after %+v", before, after)
		}
		s.decide(before)
		if end := s.ended(id); end.Status != "completed" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		s.sound(id)
		s.ledger("ran\n")
	})
}

// ledger compares what commands have left in the workspace.
func (s *server) ledger(want string) {
	s.t.Helper()
	got, err := os.ReadFile(filepath.Join(s.workspace, "ledger.txt"))
	if err != nil || string(got) != want {
		s.t.Errorf("the ledger says %q, %v; want %q", got, err, want)
	}
}

// TestKillInTheMiddleOfACommand: the tree of the command dies with the server, and nothing runs twice.
func TestKillInTheMiddleOfACommand(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo $$ > pid.txt; echo started >> ledger.txt; setsid sleep 617 & sleep 617; echo finished >> ledger.txt")))
		id := s.create().ID
		s.decide(s.asked(id, 1)[0])
		s.eventually("a start", func() bool {
			content, _ := os.ReadFile(filepath.Join(s.workspace, "ledger.txt"))
			return string(content) == "started\n"
		})
		s.kill()
		s.eventually("the end of the command's processes", func() bool { return len(harness.WorkingIn(s.workspace)) == 0 })
		s.start()
		lost := s.asked(id, 1)[1]
		if lost.Kind != "unknownOutcome" || lost.Status != "pending" {
			t.Errorf("asked: %+v", lost)
		}
		s.decide(lost, object{"resolution": "failed", "reason": "I looked: it had only begun."})
		end := s.ended(id)
		if end.Status != "completed" || !strings.Contains(end.Output.Text, "it had only begun") {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		if outcomes := of[domain.ToolCallCompleted](t, s.sound(id)); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeUnknown {
			t.Errorf("outcomes: %+v", outcomes)
		}
		s.ledger("started\n")
	})
}

// TestACommandIsTriedAgain: a command that was lost runs once more, by two words of a person, and not by one.
func TestACommandIsTriedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt; sleep 617")))
		id := s.create().ID
		s.decide(s.asked(id, 1)[0])
		s.eventually("a start", func() bool {
			content, _ := os.ReadFile(filepath.Join(s.workspace, "ledger.txt"))
			return string(content) == "ran\n"
		})
		s.kill()
		s.start()
		retry := object{"resolution": "retry", "reason": "Nothing is there."}
		lost := s.asked(id, 1)[1]
		s.decide(lost, retry)
		if again := s.decide(lost, retry); again.Status != "approved" {
			t.Errorf("the same again: %+v", again)
		}
		if response, content := s.do("POST", "/approvals/"+lost.ID, object{"decision": "deny"}); response.StatusCode != http.StatusConflict {
			t.Errorf("another answer: %s: %s", response.Status, content)
		}
		again := s.asked(id, 1)[2]
		s.ledger("ran\n")
		s.decide(again, object{"arguments": object{"command": "echo again >> ledger.txt"}})
		if end := s.ended(id); end.Status != "completed" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		if outcomes := of[domain.ToolCallCompleted](t, s.sound(id)); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeSucceeded {
			t.Errorf("outcomes: %+v", outcomes)
		}
		s.ledger("ran\nagain\n")
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt")))
		waiting := s.create().ID
		a := s.asked(waiting, 1)[0]
		ended := make(chan error, 1)
		go func() {
			_, err := s.follow(context.Background(), waiting, 0, func(wireEvent) bool { return true })
			ended <- err
		}()
		s.eventually("a stream", func() bool { return strings.Contains(s.metrics(), "signoff_http_streams 1") || len(ended) > 0 })
		s.stop()
		if err := <-ended; err != nil {
			t.Error("the stream broke instead of ending:", err)
		}
		s.start()
		if got := s.get(waiting); domain.Status(got.Status).Terminal() {
			t.Fatalf("the drain ended the execution as %s", got.Status)
		}
		s.decide(a)
		if end := s.ended(waiting); end.Status != "completed" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		s.sound(waiting)
		s.ledger("ran\n")
	})
}

func (c client) metrics() string {
	_, content := c.do("GET", "/metrics", nil)
	return string(content)
}

// TestTwentyKills kills the server again and again under live executions, and holds every log against the
// invariants.
func TestTwentyKills(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			if last(conversation).Role == "tool" {
				a.Say("done")
				return
			}
			for i := range 50 {
				a.Say(fmt.Sprintf("piece %d ", i), canary[:i%len(canary)])
				time.Sleep(time.Millisecond)
				a.Say(canary[i%len(canary):])
			}
			a.Bash("echo " + last(conversation).Content + " >> ledger.txt")
		}))
		var ids []string
		for round := range 5 {
			for i := range 4 {
				ids = append(ids, s.create(object{"prompt": fmt.Sprintf("run-%d-%d", round, i)}).ID)
			}
			for _, a := range want[list[approval]](s.client, http.StatusOK, "GET", "/approvals", nil).Items {
				if a.Kind == "unknownOutcome" {
					s.decide(a, object{"resolution": "succeeded"})
				} else {
					s.decide(a)
				}
			}
			time.Sleep(time.Duration(20+round*17) * time.Millisecond)
			s.kill()
			s.start()
		}
		s.patiently(scenario, "the end of all", func() bool {
			for _, a := range want[list[approval]](s.client, http.StatusOK, "GET", "/approvals", nil).Items {
				yes := object{"decision": "approve", "argumentsHash": a.ArgumentsHash}
				if a.Kind == "unknownOutcome" {
					yes["resolution"] = "failed"
				}
				response, content := s.do("POST", "/approvals/"+a.ID, yes)
				if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusGone {
					t.Errorf("decide: %s: %s", response.Status, content)
				}
			}
			for _, id := range ids {
				if !domain.Status(s.get(id).Status).Terminal() {
					return false
				}
			}
			return true
		})
		for _, id := range ids {
			s.sound(id)
		}
		content, err := os.ReadFile(filepath.Join(s.workspace, "ledger.txt"))
		must(t, err)
		times := map[string]int{}
		for _, line := range strings.Fields(string(content)) {
			times[line]++
			if times[line] > 1 {
				t.Errorf("%s ran %d times", line, times[line])
			}
		}
	})
}

// TestReplicas runs two servers on one Postgres: each serves what the other drives, and takes over when it dies.
func TestReplicas(t *testing.T) {
	t.Parallel()
	e := engine{url: postgres(t)}
	m := newModel(t, once("echo ran >> ledger.txt"))
	first := up(t, e, m, shortLease)
	second := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	second.Token = first.Token
	second.start()

	id := first.create().ID
	a := second.asked(id, 1)[0]
	followed := make(chan []wireEvent, 1)
	go func() {
		defer close(followed)
		followed <- second.read(id)
	}()
	second.decide(a)
	first.ended(id)
	if log := first.sound(id); !equal(<-followed, log) {
		t.Error("the other replica's stream is not the log")
	}

	cancelled := first.create().ID
	first.asked(cancelled, 1)
	if end := second.cancelled(cancelled, nil); end.Status != "cancelled" {
		t.Errorf("cancelled through the other replica: %s", end.Status)
	}

	orphan := first.create().ID
	a = first.asked(orphan, 1)[0]
	first.die()
	second.decide(a)
	begun := time.Now()
	if end := second.ended(orphan); end.Status != "completed" {
		t.Errorf("after the take-over: %+v %+v", end, end.Output)
	}
	t.Log("taken over and ended after", time.Since(begun).Round(time.Millisecond))
	second.sound(orphan)
	first.ledger("ran\nran\n")
}

// TestPausedReplicaWritesNothing: a server that was stopped for longer than its lease finds its executions gone.
func TestPausedReplicaWritesNothing(t *testing.T) {
	t.Parallel()
	e := engine{url: postgres(t)}
	m := newModel(t, nil)
	m.use(func(a *answer, _ []message) {
		if m.requests.Load() > 1 {
			a.Say("from the second")
			return
		}
		a.Say("from the first ")
		<-a.Gone
		a.Broken = true
	})
	first := up(t, e, m, shortLease)
	second := newServer(t, e, m)
	second.Token = first.Token
	second.start()
	id := first.create().ID
	first.reach(id, domain.StatusStreaming)
	must(t, first.process.Signal(syscall.SIGSTOP))
	end := second.ended(id)
	must(t, first.process.Signal(syscall.SIGCONT))
	if end.Output.Text != "from the second" {
		t.Errorf("ended: %+v", end.Output)
	}
	first.eventually("an answer of the paused replica", func() bool {
		response, err := first.try(context.Background(), "GET", "/executions/"+id, nil)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	if after := first.get(id); after.LastSeq != end.LastSeq {
		t.Errorf("the log went on from %d to %d after the end", end.LastSeq, after.LastSeq)
	}
	second.sound(id)
}
