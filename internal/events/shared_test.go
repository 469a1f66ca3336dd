package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

type shared struct{ *store.Store }

func (shared) Shared() bool { return true }

// Manager.Start watches before it creates. A poll in between must not take the execution for deleted.
func TestPollBeforeCreation(t *testing.T) {
	s := storetest.SQLite(t)
	if err := s.Heartbeat(context.Background(), replica, time.Hour); err != nil {
		t.Fatal(err)
	}
	log := run(t, shared{s})
	id := domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
	watcher := log.Watch(id)
	defer watcher.Close()
	time.Sleep(1200 * time.Millisecond) // one poll
	now := time.Now().UTC()
	_, err := log.Commit(context.Background(), store.Change{
		Execution: id, Epoch: 1,
		Create: &store.Creation{Owner: replica, Execution: domain.Execution{ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: now, Updated: now,
			Request: domain.Request{Source: domain.Source{Type: domain.SourceInternal}, Capabilities: domain.DefaultCapabilities}}},
		Events: []domain.Event{domain.NewEvent(id, domain.ExecutionCreated{Status: domain.StatusQueued})},
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := log.Follow(context.Background(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if frames, err := f.Next(context.Background()); err != nil || len(frames) != 1 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	time.Sleep(1200 * time.Millisecond)
	if _, err := f.Next(context.Background()); err != nil {
		t.Errorf("a second later: %v", err)
	}
}
