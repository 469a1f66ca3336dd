package main

import (
	"context"
	"runtime/metrics"
	"time"
)

// Go collects garbage when the heap has doubled, and a waiting server allocates little: after ten thousand executions had started and waited
// for people, the server held twice their memory for as long as they waited. So a server that has become quiet collects, and returns the
// free memory to the machine. Without that a waiting approval costs 49 KB instead of 35 (docs/performance.md).
const (
	quietFor   = time.Second
	notWithin  = 10 * time.Second // of the last collection, because it costs time in proportion to the live heap
	quietBelow = 1 << 20          // bytes allocated in a second, or an eighth of the live heap
	worthwhile = 32 << 20         // bytes to free, or a quarter of the live heap
)

// heap is the runtime's view of the heap.
type heap struct {
	allocated uint64 // since the process has begun
	live      uint64 // at the last collection
	idle      uint64 // held beyond that
}

// hasMuch reports whether the heap is worth a collection. before is the heap a second ago.
func (h heap) hasMuch(before heap) bool {
	return h.allocated-before.allocated < max(quietBelow, h.live/8) && h.idle >= max(worthwhile, h.live/4)
}

// returnMemory runs until ctx ends. read measures the heap; free shrinks it.
func returnMemory(ctx context.Context, read func() heap, free func()) {
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
