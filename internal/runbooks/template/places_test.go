package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// nursery is a renderer whose children are no processes: each takes a second of the test's clock and renders nothing.
type nursery struct {
	*Renderer
	t     *testing.T
	rooms int // places in all

	mu      sync.Mutex
	started []string // the tenants of all children, in order
	inside  map[string]int
}

func newNursery(t *testing.T, c Config) *nursery {
	n := &nursery{Renderer: NewRenderer(c), t: t, inside: map[string]int{}}
	n.rooms = n.places.free
	n.child = n.play
	return n
}

func (n *nursery) play(ctx context.Context, input []byte, out io.Writer) error {
	var o order
	if err := json.Unmarshal(input, &o); err != nil {
		return err
	}
	name := strings.Trim(o.Sources[0], "{ }") // ask puts it there
	n.mu.Lock()
	n.started = append(n.started, name)
	if n.inside[name]++; n.inside[name] > 1 {
		n.t.Errorf("%s has %d children", name, n.inside[name])
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.inside[name]--
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return json.NewEncoder(out).Encode(report{Rendered: []Rendered{{}}})
	}
}

// ask renders for a tenant and tells how it ended, and after how long.
func (n *nursery) ask(ctx context.Context, tenant domain.TenantID) <-chan ending {
	ended, start := make(chan ending, 1), time.Now()
	go func() {
		_, err := n.Render(ctx, tenant, nil, Template{Source: fmt.Sprintf("{{ %s }}", tenant)})
		ended <- ending{err, time.Since(start)}
	}()
	synctest.Wait()
	return ended
}

type ending struct {
	err   error
	after time.Duration
}

// crowd asks n times for one tenant.
func (n *nursery) crowd(tenant domain.TenantID, count int) (all []<-chan ending) {
	for range count {
		all = append(all, n.ask(n.t.Context(), tenant))
	}
	return all
}

// empty fails where something is left of calls that are over.
func (n *nursery) empty() {
	n.t.Helper()
	synctest.Wait()
	if p := n.places; p.free != n.rooms || len(p.lines) != 0 || len(p.next) != 0 {
		n.t.Errorf("%d places are free, %d lines and %d turns are left", p.free, len(p.lines), len(p.next))
	}
}

func unavailable(t *testing.T, err error, message string) {
	t.Helper()
	if got := domain.FailureOf(err); got.Code != domain.CodeUnavailable || got.Message != message {
		t.Errorf("got %v, want %s", err, message)
	}
}

const crowded = "Too many templates are being rendered; try again in a moment."

func TestABusyTenantDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNursery(t, Config{})
		busy := n.crowd("a", 60)
		if other := <-n.ask(t.Context(), "b"); other.err != nil || other.after != time.Second { // what its own child takes
			t.Errorf("it takes %s, %v", other.after, other.err)
		}
		for _, call := range busy {
			<-call
		}
		n.empty()
	})
}

// TestTenantsTakeTurns: those who came later have their turn before anybody has a second one.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNursery(t, Config{AtOnce: 1, Patience: time.Hour})
		all := slices.Concat(n.crowd("a", 3), n.crowd("b", 2), n.crowd("c", 1))
		for i, call := range all {
			if call := <-call; call.err != nil {
				t.Errorf("call %d: %v", i, call.err)
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a"}, n.started); diff != "" {
			t.Error(diff)
		}
		n.empty()
	})
}

func TestTheWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNursery(t, Config{Timeout: time.Hour})
		long := make(chan struct{})
		n.child = func(context.Context, []byte, io.Writer) error { <-long; return errors.New("killed") }
		holding := n.ask(t.Context(), "a")
		refused := <-n.ask(t.Context(), "a")
		unavailable(t, refused.err, crowded)
		if refused.after != 5*time.Second {
			t.Errorf("it waits for %s", refused.after)
		}
		close(long)
		if held := <-holding; domain.CodeOf(held.err) != domain.CodeInvalid {
			t.Error(held.err)
		}
		n.empty()
	})
}

func TestALineHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNursery(t, Config{Patience: time.Hour})
		busy := n.crowd("a", 1+maxWaiting)
		refused := <-n.ask(t.Context(), "a")
		unavailable(t, refused.err, crowded)
		if other := <-n.ask(t.Context(), "b"); refused.after != 0 || other.err != nil {
			t.Errorf("refused after %s; another tenant gets %v", refused.after, other.err)
		}
		for i, call := range busy {
			if call := <-call; call.err != nil {
				t.Errorf("call %d: %v", i, call.err)
			}
		}
		n.empty()
	})
}

// TestWaitingEndsWithTheRequest, for the call whose child runs and for those that wait; those that stay move up.
func TestWaitingEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNursery(t, Config{})
		going, leave := context.WithCancel(t.Context())
		gone := []<-chan ending{n.ask(going, "a"), n.ask(going, "a"), n.ask(going, "b"), n.ask(going, "c")}
		staying := []<-chan ending{n.ask(t.Context(), "a"), n.ask(t.Context(), "d")}
		leave()
		for _, call := range gone {
			call := <-call
			unavailable(t, call.err, "The request ended before its templates were rendered.")
		}
		for i, call := range staying {
			if call := <-call; call.err != nil || call.after != time.Second {
				t.Errorf("call %d takes %s, %v", i, call.after, call.err)
			}
		}
		n.empty()
		late := <-n.ask(going, "a")
		unavailable(t, late.err, "The request ended before its templates were rendered.")
		n.empty()
	})
}

// TestATurnThatComesTooLate goes to the next one, and not to who has given up before.
func TestATurnThatComesTooLate(t *testing.T) {
	p := newPlaces(1, time.Hour)
	turns := map[domain.TenantID]chan struct{}{}
	for _, tenant := range []domain.TenantID{"a", "b", "c"} {
		turn, err := p.queue(tenant)
		if err != nil {
			t.Fatal(err)
		}
		turns[tenant] = turn
	}
	p.giveUp("b", turns["b"])
	if !slices.Equal(p.next, []*line{p.lines["c"]}) {
		t.Fatalf("%d tenants wait", len(p.next))
	}
	<-turns["a"] // nobody saw it: the time was over, too
	p.giveUp("a", turns["a"])
	<-turns["c"]
	p.leave("c")
	if p.free != 1 || len(p.lines) != 0 || len(p.next) != 0 {
		t.Errorf("%d places are free, %d lines and %d turns are left", p.free, len(p.lines), len(p.next))
	}
}
