package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/domain"
)

// stuck leads an execution into a status and leaves it there. The prompt says which.
func stuck(a *answer, conversation []message) {
	switch {
	case last(conversation).Role == "tool":
		a.Say("done")
	case strings.Contains(last(conversation).Content, "streaming"):
		a.Say("half a sen")
		<-a.Gone
		a.Broken = true
	case strings.Contains(last(conversation).Content, "pendingToolApproval"):
		a.Bash("touch ran.txt")
	case strings.Contains(last(conversation).Content, "executingTool"):
		a.Bash("touch started.txt; sleep 600")
	default:
		<-a.Gone
		a.Broken = true
	}
}

func TestCancelInEveryState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, stuck))
		for _, status := range []domain.Status{
			domain.StatusWaiting, domain.StatusStreaming, domain.StatusPendingToolApproval, domain.StatusExecutingTool,
		} {
			id := s.create(object{"prompt": string(status)}).ID
			if status == domain.StatusExecutingTool {
				s.decide(s.asked(id, 1)[0])
			}
			s.reach(id, status)
			cancelled := s.cancelled(id, object{"reason": "enough"})
			if cancelled.Status != "cancelled" {
				t.Errorf("%s: cancel answers %s", status, cancelled.Status)
			}
			again := want[execution](s.client, http.StatusOK, "POST", "/executions/"+id+"/cancel", nil)
			if again.Status != "cancelled" {
				t.Errorf("%s: the second cancel answers %s", status, again.Status)
			}
			log := s.sound(id)
			if end := of[domain.ExecutionEnded](t, log); len(end) != 1 || end[0].Reason != "enough" || end[0].CancelledBy == nil {
				t.Errorf("%s: the end is %+v", status, end)
			}
			for _, a := range s.asked(id, 0) {
				if a.Status == "pending" {
					t.Errorf("%s: an approval stays open", status)
				}
			}
			if status == domain.StatusPendingToolApproval {
				a := s.asked(id, 0)[0]
				s.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+a.ID, object{"decision": "approve", "argumentsHash": a.ArgumentsHash})
			}
		}
	})
}

func TestCancelOfACompletedOneConflicts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, _ []message) { a.Say("hello") }))
		id := s.create().ID
		s.ended(id)
		s.refused(http.StatusConflict, "executionEnded", "POST", "/executions/"+id+"/cancel", nil)
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, stuck))
		id := s.create(object{"prompt": "streaming", "timeoutSeconds": 10}).ID
		if end := s.ended(id); end.Status != "timedOut" || end.Output.Text != "half a sen" || end.Output.Error.Code != "timedOut" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		s.sound(id)
	})
}

// TestModelThatFails: a key can be mended, and a model that the provider does not know cannot.
func TestModelThatFails(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		var status atomic.Int32
		status.Store(http.StatusUnauthorized)
		s := up(t, e, newModel(t, func(a *answer, _ []message) {
			if code := int(status.Load()); code != http.StatusOK {
				a.W.WriteHeader(code)
				fmt.Fprint(a.W, `{"error":{"message":"no such key","type":"invalid_request_error"}}`)
				a.Broken = true
				return
			}
			a.Say("Here I am.")
		}))
		id := s.create().ID
		s.reach(id, domain.StatusInterrupted)
		if cause := want[struct{ Cause string }](s.client, http.StatusOK, "GET", "/executions/"+id, nil).Cause; cause != "provider" {
			t.Errorf("interrupted with the cause %q", cause)
		}
		for _, mode := range []string{"load", "fresh"} {
			s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions/"+id+"/resume", object{"mode": mode})
		}
		status.Store(http.StatusOK)
		want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "retry"})
		if end := s.ended(id); end.Status != "completed" || end.Output.Text != "Here I am." {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		s.sound(id)

		status.Store(http.StatusNotFound)
		if end := s.ended(s.create().ID); end.Status != "failed" || end.Output.Error.Code != "modelFailed" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
	})
}

func TestMaxIterations(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, _ []message) { a.Want("read", object{"path": "none"}) }))
		end := s.ended(s.create(object{"maxIterations": 3}).ID)
		if end.Status != "failed" || end.Output.FinishReason != "maxIterations" || end.Output.Error.Code != "limitReached" {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		if calls := of[domain.ToolCallRequested](t, s.sound(end.ID)); len(calls) != 3 {
			t.Errorf("%d calls", len(calls))
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, stuck))
		id := s.create(object{"prompt": "streaming"}).ID
		s.reach(id, domain.StatusStreaming)
		begun, closed := make(chan struct{}), make(chan error, 1)
		go func() {
			begin := sync.OnceFunc(func() { close(begun) })
			_, err := s.follow(context.Background(), id, 0, func(wireEvent) bool { begin(); return true })
			closed <- err
		}()
		<-begun
		want[object](s.client, http.StatusAccepted, "DELETE", "/executions/"+id, nil)
		s.refused(http.StatusNotFound, "notFound", "GET", "/executions/"+id, nil)
		select {
		case err := <-closed:
			if err != nil {
				t.Error("the stream broke:", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the stream of a deleted execution stays open")
		}
		s.refused(http.StatusNotFound, "notFound", "GET", "/executions/"+id, nil)
		s.refused(http.StatusNotFound, "notFound", "GET", "/executions/"+id+"/events", nil)
		s.eventually("nothing is left of it", func() bool {
			response, _ := s.do("DELETE", "/executions/"+id, nil)
			return response.StatusCode == http.StatusNotFound
		})
	})
}

// TestDisconnects follows one long stream with twenty connections that break at random places.
func TestDisconnects(t *testing.T) {
	t.Parallel()
	const words = 3000
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, _ []message) {
			for i := range words {
				a.Say(fmt.Sprintf("word %d ", i))
				if i%20 == 0 {
					time.Sleep(time.Millisecond) // so that there is a live end to follow
				}
			}
		}))
		id := s.create().ID
		whole := make(chan []wireEvent, 1)
		go func() { whole <- s.read(id) }()

		seed := uint64(time.Now().UnixNano())
		t.Log("seed", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		var pieces []wireEvent
		after := func() int64 {
			if len(pieces) == 0 {
				return 0
			}
			return pieces[len(pieces)-1].Seq
		}
		for range 20 {
			left := 1 + random.IntN(12)
			_, err := s.follow(context.Background(), id, after(), func(event wireEvent) bool {
				pieces = append(pieces, event)
				left--
				return left > 0
			})
			must(t, err)
		}
		for done := false; !done; {
			var err error
			done, err = s.follow(context.Background(), id, after(), func(event wireEvent) bool { pieces = append(pieces, event); return true })
			must(t, err)
		}
		log := s.sound(id)
		if !equal(pieces, log) {
			t.Errorf("the pieces (%d events) are not the log (%d)", len(pieces), len(log))
		}
		if uninterrupted := <-whole; !equal(uninterrupted, log) {
			t.Errorf("the uninterrupted stream (%d events) is not the log (%d)", len(uninterrupted), len(log))
		}
		text := ""
		for _, p := range of[domain.MessageDelta](t, log) {
			text += p.Text
		}
		if n := strings.Count(text, "word "); n != words {
			t.Errorf("%d words of %d", n, words)
		}
	})
}

func TestCursors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, _ []message) { a.Say("hello") }))
		id := s.create().ID
		end := s.ended(id)
		path := "/executions/" + id + "/events"
		if response, _ := s.do("GET", path, nil, headers{"Last-Event-ID": fmt.Sprint(end.LastSeq)}); response.StatusCode != http.StatusNoContent {
			t.Errorf("at the end: %s", response.Status)
		}
		s.refused(http.StatusConflict, "cursorBeyondHead", "GET", path+fmt.Sprintf("?after=%d", end.LastSeq+1), nil)
		s.refused(http.StatusBadRequest, "malformed", "GET", path+"?after=x", nil)
		s.refused(http.StatusBadRequest, "malformed", "GET", path, nil, headers{"Last-Event-ID": "-1"})
	})
}

func TestRacingDeciders(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt")))
		tokens := map[string]string{}
		for i := range 32 {
			name := fmt.Sprintf("decider-%d", i)
			tokens[name] = s.newKey("--name", name, "--scopes", "approvals:read,approvals:decide")
		}
		id := s.create().ID
		a := s.asked(id, 1)[0]
		var winners sync.Map
		var losers atomic.Int32
		var deciders sync.WaitGroup
		for name, token := range tokens {
			deciders.Go(func() {
				body := object{"decision": "deny", "reason": "by " + name}
				if len(name)%2 == 0 {
					body = object{"decision": "approve", "argumentsHash": a.ArgumentsHash}
				}
				response, content := s.with(token).do("POST", "/approvals/"+a.ID, body)
				switch response.StatusCode {
				case http.StatusOK:
					winners.Store(body["decision"], name)
				case http.StatusConflict:
					losers.Add(1)
					if !strings.Contains(string(content), "decidedBy") {
						t.Errorf("the loser is not told who won: %s", content)
					}
				default:
					t.Errorf("%s: %s", response.Status, content)
				}
			})
		}
		deciders.Wait()
		verbs := 0
		winners.Range(func(any, any) bool { verbs++; return true })
		if verbs != 1 || losers.Load() == 0 {
			t.Errorf("%d outcomes won, %d lost", verbs, losers.Load())
		}
		s.ended(id)
		if resolved := of[domain.ApprovalResolved](t, s.sound(id)); len(resolved) != 1 {
			t.Errorf("%d decisions", len(resolved))
		}
	})
}

func TestIdempotentCreate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, stuck))
		key := headers{"Idempotency-Key": "runbook-7-step-3"}
		body := object{"source": object{"type": "internal"}, "prompt": "waiting"}
		var answers sync.Map
		var creators sync.WaitGroup
		for range 20 {
			creators.Go(func() {
				response, content := s.do("POST", "/executions", body, key)
				if response.StatusCode != http.StatusCreated {
					t.Errorf("%s: %s", response.Status, content)
				}
				answers.Store(string(content), true)
			})
		}
		creators.Wait()
		different := 0
		answers.Range(func(any, any) bool { different++; return true })
		all := want[list[execution]](s.client, http.StatusOK, "GET", "/executions", nil)
		if different != 1 || len(all.Items) != 1 {
			t.Errorf("%d different answers, %d executions", different, len(all.Items))
		}
		body["prompt"] = "something else"
		s.refused(http.StatusConflict, "idempotencyKeyReused", "POST", "/executions", body, key)
	})
}
