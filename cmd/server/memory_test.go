package main

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceTheServerIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var allocated, rate, idle, freed atomic.Uint64
		rate.Store(quietBelow)
		idle.Store(500 << 20)
		go giveBack(ctx, func() heap { return heap{allocated: allocated.Add(rate.Load()), idle: idle.Load()} }, func() {
			freed.Add(1)
			idle.Store(0)
		})
		after := func(d time.Duration) uint64 {
			time.Sleep(d)
			synctest.Wait()
			return freed.Load()
		}
		if n := after(10 * time.Second); n != 0 {
			t.Errorf("%d times while it is busy", n)
		}
		rate.Store(quietBelow - 1)
		if n := after(3 * time.Second); n != 1 {
			t.Errorf("%d times when it has become quiet", n)
		}
		idle.Store(worthwhile - 1)
		if n := after(10 * time.Second); n != 1 {
			t.Errorf("%d times, the last for next to nothing", n)
		}
	})
}

func TestGarbageIsIdleUntilItIsFreed(t *testing.T) {
	freeHeap()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := readHeap()
	garbage := make([][]byte, 2*worthwhile>>20)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
	}
	clear(garbage)
	after := readHeap()
	if grown := after.allocated - before.allocated; grown < 2*worthwhile || after.idle < worthwhile {
		t.Errorf("%d bytes were allocated, and %d are idle", grown, after.idle)
	}
	freeHeap()
	if idle := readHeap().idle; idle >= worthwhile {
		t.Errorf("%d bytes are idle when all was given back", idle)
	}
}
