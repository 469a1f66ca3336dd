package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A deleted tree has no followers any more, and each of its executions is given a driver, which ends it.
func TestATreeIsForgottenAndEnded(t *testing.T) {
	s := storetest.SQLite(t)
	log := events.NewLog(s)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	defer running.Wait()
	defer stop()
	m := NewManager(Config{}, s, log)
	root := domain.Execution{ID: "root", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}
	child := root.Delegated("child", domain.Request{Parent: root.ParentOf("call", "name", false)}, time.Now())
	for _, change := range []store.Change{
		{Execution: root.ID, Epoch: 1, Create: &store.Creation{Execution: root, Owner: "one"}},
		{Execution: root.ID, Epoch: 1, Linked: []store.Change{{Execution: child.ID, Epoch: 1, Create: &store.Creation{Execution: child, Queued: true}}}},
	} {
		if _, err := log.Commit(ctx, change); err != nil {
			t.Fatal(err)
		}
	}
	follower, err := log.Follow(ctx, child.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	if err := m.Delete(ctx, domain.DefaultTenant, child.ID, domain.Actor{}); domain.CodeOf(err) != domain.CodeConflict || len(m.urgent) > 0 {
		t.Errorf("a child is deleted: %v, %v", err, m.urgent)
	}
	if err := m.Delete(ctx, domain.DefaultTenant, root.ID, domain.Actor{}); err != nil {
		t.Fatal(err)
	}
	if _, err := follower.Next(ctx); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("the follower of the child is told %v", err)
	}
	if got := slices.Sorted(maps.Keys(m.urgent)); !slices.Equal(got, []domain.ExecutionID{child.ID, root.ID}) {
		t.Errorf("%v are looked after", got)
	}
}
