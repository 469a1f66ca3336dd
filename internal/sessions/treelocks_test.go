package sessions

import (
	"context"
	"errors"
	"testing"
)

// Each tree has a lock of its own. Who gives up while waiting for it does not change anything, a change that panics does not keep the lock, and nothing is
// left of a tree without users.
func TestTreeLocks(t *testing.T) {
	locks := newTreeLocks()
	held, give := make(chan struct{}), make(chan struct{})
	broken := make(chan any)
	go func() {
		defer func() { broken <- recover() }()
		_ = locks.hold(t.Context(), "a", func() error { close(held); <-give; panic("broken") })
	}()
	<-held
	why := errors.New("changed")
	if err := locks.hold(t.Context(), "b", func() error { return why }); !errors.Is(err, why) {
		t.Errorf("the other tree: %v", err)
	}
	over := errors.New("the turn is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if err := locks.hold(ctx, "a", func() error { return why }); !errors.Is(err, over) {
		t.Errorf("a second one: %v", err)
	}
	next := make(chan error)
	go func() { next <- locks.hold(context.Background(), "a", func() error { return why }) }()
	close(give)
	if panicked := <-broken; panicked == nil {
		t.Error("the panic is lost")
	}
	if err := <-next; !errors.Is(err, why) {
		t.Errorf("the next one: %v", err)
	}
	if len(locks.trees) != 0 {
		t.Errorf("%d locks are left", len(locks.trees))
	}
}
