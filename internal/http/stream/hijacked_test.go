package stream

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdownWaitsForHijackedConnectionsAndClosesThemAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c connections
		if err := c.shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		quick, far := net.Pipe()
		c.add(quick, func() {})
		go func() {
			time.Sleep(time.Second)
			c.remove(quick)
		}()
		if err := c.shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}

		slow, end := net.Pipe()
		c.add(slow, func() {})
		go func() { // writes into the void
			_, _ = slow.Write([]byte("x"))
			c.remove(slow)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || c.count() != 0 {
			t.Errorf("%v, %d connections", err, c.count())
		}
		_, _ = far.Close(), end.Close()
	})
}

// Who has the terminal event may go before the last chunk, which is no fault that anybody should read about in the log.
func TestAClientThatGoesWithTheTerminalEventIsNoFault(t *testing.T) {
	ours, theirs := net.Pipe()
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writeLastChunk(ours); !IsDisconnect(err) {
		t.Errorf("the end of the connection is %v", err)
	}
}
