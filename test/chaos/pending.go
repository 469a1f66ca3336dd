//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	readyWithin   = 2 * time.Second // a server that finds ten thousand open questions
	reachesWithin = time.Second     // a decision, the session that waits for it
	someDecisions = 20              // of which one may take longer
)

// pending kills a server under thousands of open approvals. It is ready again at once, every question is still there, and
// a decision reaches its session, seen from outside: toolCall.started comes on the stream.
func pending(r *run) {
	n := 1000
	if r.long {
		n = 10_000
	}
	for range r.cycles {
		for _, s := range []setup{{name: "sqlite"}, {name: "postgres", postgres: true}} {
			s.env = map[string]string{"SIGNOFF_LOG_LEVEL": "warn", "SIGNOFF_PARK_SECONDS": "1", "SIGNOFF_MAX_LIVE": "20000"}
			w := newWorld(r, s)
			w.manyAsk(n)
			w.close()
		}
		r.cycled()
	}
}

func (w *world) manyAsk(n int) {
	w.createMany(n)
	before := w.inboxOf(n)
	w.run.sleep(3 * time.Second) // waiting executions are parked after one
	w.readyAgain(n)
	late := w.decideSome(before)
	if late > 1 { // a neighbour may take a minute; one that is there each time is none
		late = w.decideSome(before)
	}
	w.run.expect(late <= 1, "%s: %d of %d decisions took longer than %s to reach their session", w.name, late, someDecisions, reachesWithin)
	after := w.inbox()
	lost := 0
	for id, a := range before {
		if after[id] != a {
			lost++
		}
	}
	w.run.expect(lost == 0 && len(after) == len(before), "%s: I2: of %d open questions %d are lost, %d are there", w.name, len(before), lost, len(after))
	w.run.count("open questions", n)
}

// decideSome decides some of the questions, which are no longer among them then, and returns how many took too long.
func (w *world) decideSome(open map[string]pendingApproval) (late int) {
	left := someDecisions
	for id, a := range open {
		if left--; left < 0 {
			break
		}
		if !w.reaches(a) {
			late++
		}
		delete(open, id)
	}
	return late
}

// readyAgain kills the server and starts it. Somebody else on this machine may take its time; that it is never in time in three
// tries is no accident.
func (w *world) readyAgain(n int) {
	s := w.servers[0]
	for try := 1; ; try++ {
		took := s.restart()
		w.run.took(fmt.Sprintf("%s: ready with %d open questions", w.name, n), took)
		if try == 3 || took <= readyWithin {
			w.run.expect(took <= readyWithin, "%s: ready after %s with %d open questions", w.name, took, n)
			return
		}
	}
}

// createMany creates executions that ask one question each.
func (w *world) createMany(n int) {
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i
	}
	close(numbers)
	var clients sync.WaitGroup
	for range 32 {
		d := w.run.dice.own()
		clients.Go(func() {
			for i := range numbers {
				p := plan{Key: fmt.Sprintf("%s-%s-%d", w.run.block.name, w.name, i), Calls: 1}
				a := w.insist(w.run.ctx, d, http.MethodPost, "/executions",
					object{"source": object{"type": "internal"}, "prompt": p.prompt(), "metadata": object{"key": p.Key}}, "Idempotency-Key", p.Key)
				w.run.operation(a.status == http.StatusCreated)
			}
		})
	}
	clients.Wait()
}

// pendingApproval are the fields that must be the same after the restart.
type pendingApproval struct {
	ID            string
	ExecutionID   string
	ArgumentsHash string
	ExpiresAt     string
}

// inboxOf waits until so many questions are open.
func (w *world) inboxOf(n int) (all map[string]pendingApproval) {
	asked := w.run.await(3*time.Minute, func() bool {
		all = w.inbox()
		return len(all) == n
	})
	if !asked {
		w.run.must(fmt.Errorf("%s: %d of %d questions were asked", w.name, len(all), n))
	}
	return all
}

// inbox reads all open questions.
func (w *world) inbox() map[string]pendingApproval {
	open, err := listed[pendingApproval](w, "/approvals?status=pending&limit=100")
	w.run.must(err)
	all := map[string]pendingApproval{}
	for _, a := range open {
		all[a.ID] = a
	}
	return all
}

// reaches decides an approval while a follower reads, and reports whether the call starts in time.
func (w *world) reaches(a pendingApproval) (inTime bool) {
	ctx, cancel := context.WithTimeout(w.run.ctx, 20*time.Second)
	defer cancel()
	open, started := make(chan struct{}), make(chan time.Time, 1)
	go func() {
		last, done := int64(0), false
		for !done && ctx.Err() == nil {
			done, _ = w.follow(ctx, w.servers[0], a.ExecutionID, last, func(e event) {
				last = e.Seq
				switch e.Type {
				case "approval.requested":
					close(open)
				case "toolCall.started":
					started <- time.Now()
				}
			})
		}
	}()
	select {
	case <-open:
	case <-ctx.Done():
		w.run.violate("%s: the stream of %s does not come to its question", w.name, a.ExecutionID)
		return false
	}
	begun := time.Now()
	answer := w.ask(ctx, w.servers[0], http.MethodPost, "/approvals/"+a.ID, object{"decision": approve, "argumentsHash": a.ArgumentsHash})
	w.run.operation(answer.status == http.StatusOK)
	select {
	case at := <-started:
		w.run.took(w.name+": decision to start", at.Sub(begun))
		return at.Sub(begun) <= reachesWithin
	case <-ctx.Done():
		w.run.violate("%s: a decision did not reach %s in twenty seconds, it was answered with %d", w.name, a.ExecutionID, answer.status)
		return false
	}
}
