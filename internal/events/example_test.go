package events_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// A follower that begins behind event 1 reads event 2 from the database and event 3 as it is committed, with no seam between them.
func ExampleFollower_Next() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	folder, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	s, err := openExample(ctx, filepath.Join(folder, "signoff.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	log := events.NewLog(s)
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	defer func() { stop(); running.Wait() }()

	const id = domain.ExecutionID("0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11")
	creation := &store.Creation{Owner: replica, Execution: domain.Execution{
		ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now(),
		Request: domain.Request{Source: domain.Source{Type: domain.SourceInternal}},
	}}
	commit := func(change store.Change) {
		change.Execution, change.Epoch = id, 1
		if _, err := log.Commit(ctx, change); err != nil {
			fmt.Println(err)
		}
	}
	commit(store.Change{Create: creation, Events: []domain.Event{
		domain.NewEvent(id, domain.ExecutionCreated{Status: domain.StatusQueued}),
		domain.NewEvent(id, domain.TurnStarted{Turn: 1}),
	}})

	follower, err := log.Follow(ctx, id, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer follower.Close()
	for seen := int64(1); seen < 3; {
		frames, err := follower.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, frame := range frames {
			fmt.Println(frame.Seq, frame.Type)
			seen = frame.Seq
		}
		switch {
		case len(frames) == 0:
			<-follower.Notified()
		case seen == 2:
			commit(store.Change{Events: []domain.Event{domain.NewEvent(id, domain.MessageDelta{MessageID: "m1", Text: "Hello."})}})
		}
	}
	// Output:
	// 2 turn.started
	// 3 message.delta
}

// openExample opens a new database on which a replica has a lease.
func openExample(ctx context.Context, path string) (*store.Store, error) {
	s, err := store.Open(ctx, store.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, err
	}
	return s, s.Heartbeat(ctx, replica, time.Hour)
}
