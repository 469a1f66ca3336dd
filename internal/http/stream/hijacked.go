package stream

import (
	"context"
	"net"
	"sync"
)

// connections are the hijacked connections, for which http.Server.Shutdown does not wait.
type connections struct {
	mu    sync.Mutex
	open  map[net.Conn]func() // cancels the stream of the connection
	ended chan struct{}       // closed when the last one ends; nil: nobody waits for that
}

func (c *connections) add(connection net.Conn, cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]func(){}
	}
	c.open[connection] = cancel
}

func (c *connections) remove(connection net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, connection)
	if len(c.open) == 0 && c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
}

// shutdown waits until all have ended, and closes the remaining ones when ctx ends.
func (c *connections) shutdown(ctx context.Context) error {
	select {
	case <-c.allEnded():
		return nil
	case <-ctx.Done():
		c.closeAll()
		<-c.allEnded()
		return context.Cause(ctx)
	}
}

func (c *connections) allEnded() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if c.ended == nil {
		c.ended = make(chan struct{})
	}
	return c.ended
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection, cancel := range c.open {
		cancel()
		_ = connection.Close()
	}
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}
