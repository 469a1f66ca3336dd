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
	for name, of := range map[string]struct{ live, busy, little uint64 }{
		"a small server": {live: 4 << 20, busy: 1 << 20, little: 32 << 20},
		"a large server": {live: 400 << 20, busy: 50 << 20, little: 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var allocated, rate, idle, freed atomic.Uint64
				go func() {
					for pause(ctx, 100*time.Millisecond) {
						allocated.Add(rate.Load() / 10)
					}
				}()
				go returnMemory(ctx, func() heap { return heap{allocated: allocated.Load(), live: of.live, idle: idle.Load()} }, func() {
					freed.Add(1)
					idle.Store(0)
				})
				expect := func(n uint64, after time.Duration, when string) {
					time.Sleep(after)
					synctest.Wait()
					if got := freed.Load(); got != n {
						t.Errorf("%d times, not %d, %s", got, n, when)
					}
				}
				rate.Store(of.busy * 5 / 4)
				idle.Store(2 * of.little)
				expect(0, 10*time.Second, "while it is busy")
				rate.Store(of.busy * 3 / 4)
				expect(1, 3*time.Second, "when it has become quiet")
				idle.Store(2 * of.little)
				expect(1, 5*time.Second, "soon after the last time")
				expect(2, 10*time.Second, "after a while")
				idle.Store(of.little - 1)
				expect(2, 30*time.Second, "for next to nothing")
			})
		})
	}
}

func TestGarbageIsIdleUntilItIsFreed(t *testing.T) {
	debug.FreeOSMemory()
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
	debug.FreeOSMemory()
	if idle := readHeap().idle; idle >= worthwhile {
		t.Errorf("%d bytes are idle when all was given back", idle)
	}
}
