package stream

import (
	"context"
	"net"
	"sync"
)

// connections are those that were taken over: net/http does not wait for them at its end.
type connections struct {
	mu    sync.Mutex
	open  map[net.Conn]func() // has the stream leave, whatever it waits for
	ended chan struct{}       // closed when the last one ends; nil: nobody waits for that
}

func (c *connections) add(connection net.Conn, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]func(){}
	}
	c.open[connection] = leave
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

// shutdown waits until all have ended, and closes those that have not when ctx ends.
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
	for connection, leave := range c.open {
		leave()
		_ = connection.Close()
	}
}

// count is how many are open.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}
