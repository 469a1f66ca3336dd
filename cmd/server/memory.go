package main

import (
	"context"
	"runtime/metrics"
	"time"
)

// Go collects when as much has been allocated as was alive, and a server that waits allocates little: after a wave of ten thousand
// executions that then waited for people it held twice their memory, for as long as they waited. So a server that has become
// quiet collects, and gives the rest back to the machine. Without that a waiting approval costs 49 KB in place of 35
// (docs/performance.md).
const (
	quietFor   = time.Second
	notWithin  = 10 * time.Second // of the last time, since a collection costs as much as there is alive
	quietBelow = 1 << 20          // bytes that are allocated in a second, or an eighth of what is alive
	worthwhile = 32 << 20         // bytes that are to be had, or a quarter of what is alive; for less, nothing is done
)

// heap is the runtime's view of the heap.
type heap struct {
	allocated uint64 // since the process has begun
	live      uint64 // at the last collection
	idle      uint64 // held beyond that
}

// hasMuch reports whether a heap is worth a collection, given the one of a second ago.
func (h heap) hasMuch(before heap) bool {
	return h.allocated-before.allocated < max(quietBelow, h.live/8) && h.idle >= max(worthwhile, h.live/4)
}

// giveBack runs until ctx ends. read measures the heap; free shrinks it.
func giveBack(ctx context.Context, read func() heap, free func()) {
	for before := read(); pause(ctx, quietFor); before = read() {
		if !read().hasMuch(before) {
			continue
		}
		free()
		if !pause(ctx, notWithin) {
			return
		}
	}
}

// pause reports whether the time has passed before ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// readHeap may be called at once, and does not stop the program.
func readHeap() heap {
	sample := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(sample)
	value := func(i int) uint64 { return sample[i].Value.Uint64() }
	held := value(2) + value(3)
	return heap{allocated: value(0), live: value(1), idle: held - min(held, value(1))}
}
