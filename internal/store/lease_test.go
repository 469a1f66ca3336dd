package store_test

import (
	"context"
	"testing"
	"time"

	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestLeaseIsRenewedWhileAllConnectionsAreTaken takes every connection of the pool, as a burst of commits does.
func TestLeaseIsRenewedWhileAllConnectionsAreTaken(t *testing.T) {
	const connections = 3
	s, err := store.Open(t.Context(), store.Config{DatabaseURL: storetest.Postgres(t), MaxConns: connections})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range connections {
		conn, err := s.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Heartbeat(ctx, "replica", time.Minute); err != nil {
		t.Errorf("the lease is not renewed: %v", err)
	}
}
