package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go collects when as much has been allocated as was alive, and an idle server allocates nothing: after a wave of ten thousand
// executions that then wait for people it held twice their memory, for as long as they waited. So a server that has become
// quiet collects, and gives the rest back to the machine.
const (
	quietFor   = time.Second
	quietBelow = 1 << 20  // bytes that are allocated in that time
	worthwhile = 32 << 20 // bytes that are to be had; for less, nothing is done
)

// heap is what the runtime tells.
type heap struct {
	allocated uint64 // since the process has begun
	idle      uint64 // held, and alive no more at the last collection or not used at all
}

// giveBack runs until ctx ends. read tells of the heap; free makes it small.
func giveBack(ctx context.Context, read func() heap, free func()) {
	every := time.NewTicker(quietFor)
	defer every.Stop()
	for before := read(); ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		now := read()
		if now.allocated-before.allocated < quietBelow && now.idle >= worthwhile {
			free()
			now = read()
		}
		before = now
	}
}

// readHeap may be called at once by many; it stops nobody.
func readHeap() heap {
	sample := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(sample)
	value := func(i int) uint64 { return sample[i].Value.Uint64() }
	held := value(2) + value(3)
	return heap{allocated: value(0), idle: held - min(held, value(1))}
}

func freeHeap() { debug.FreeOSMemory() }
