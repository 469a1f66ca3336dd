package faultproxy

import (
	"bytes"
	"sync"
	"time"
)

// Direction is a way that bytes go.
type Direction int

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// orders are what holds at the moment.
type orders struct {
	delay         time.Duration
	swallow, hold Direction
	swallowMarked bool
	cut           *cut
}

// cut is a link's end that waits for something to come.
type cut struct {
	way     Direction
	on      []byte // nil: left counts
	left    int64
	forward bool
}

// control is what the links of a proxy share: its orders, and what has come of them.
type control struct {
	mark []byte // links whose clients send this text are marked

	mu      sync.Mutex
	orders  orders
	changed chan struct{} // closed when the orders change
	marked  int           // links that were marked so far
	fired   int           // cuts that have happened
}

// change gives new orders, and wakes who waits under the old ones.
func (c *control) change(give func(o *orders)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	give(&c.orders)
	close(c.changed)
	c.changed = make(chan struct{})
}

// cutting returns how many bytes of a piece still pass, and whether the link goes on behind them.
func (c *control) cutting(way Direction, piece []byte) (pass int, goOn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.orders.cut
	switch {
	case next == nil || next.way&way == 0:
		return len(piece), true
	case next.on != nil:
		at := bytes.Index(piece, next.on)
		if at < 0 {
			return len(piece), true
		}
		if pass = at; next.forward {
			pass += len(next.on)
		}
	default:
		if next.left -= int64(len(piece)); next.left > 0 {
			return len(piece), true
		}
		pass = len(piece) + int(next.left)
	}
	c.orders.cut = nil
	c.fired++
	return pass, false
}

// Marked is how many links have been marked so far, also those that are gone.
func (c *control) Marked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marked
}

// Fired is how many cuts have happened.
func (c *control) Fired() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fired
}
