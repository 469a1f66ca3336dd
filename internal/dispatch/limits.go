package dispatch

import (
	"cmp"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// A server drives a bounded number of executions at once. Executions beyond that are queued as rows, for whichever replica has
// room, and beyond a second bound refused. So overload costs disk, and never becomes memory.

// Limits bounds the load of a server. 0 is the default. Sessions that begin while the queue is read may exceed the bounds of
// sessions for a moment, and so may those that wake. A session that waits only for its children does not count.
type Limits struct {
	Live            int // sessions of this server; 0 = 1000
	LivePerTenant   int // of them, of one tenant; 0 = all
	Queued          int // executions in the queue, which all replicas share; 0 = 10,000; see [NoQueue]
	QueuedPerTenant int // of one tenant; 0 = 1000
	Events          int // in the log of an execution; 0 = 2,000,000. Some hundreds of them are reserved for its end
	Commands        int // that this server runs at once; 0 = 16

	Generations      int           // of blocks that may be created for one runbook or document within GenerationWindow; 0 = 10; see [NoLimit]
	GenerationWindow time.Duration // 0 = 10 seconds
}

// NoLimit as a bound of generations allows any number.
const NoLimit = -1

// NoQueue as a bound of the queue refuses at once if there is no room.
const NoQueue = -1

func (l Limits) withDefaults() Limits {
	set := func(limit *int, usual int) {
		if *limit == 0 {
			*limit = usual
		}
	}
	set(&l.Live, 1000)
	set(&l.LivePerTenant, l.Live)
	set(&l.Queued, 10_000)
	set(&l.QueuedPerTenant, 1000)
	set(&l.Events, 2_000_000)
	set(&l.Commands, 16)
	set(&l.Generations, 10)
	l.GenerationWindow = cmp.Or(l.GenerationWindow, 10*time.Second)
	return l
}

// woken is the factor of the limit up to which parked executions may wake: they were admitted once and do not queue again, since
// somebody waits for them, but not all may wake at once.
const woken = 2

// generationLimit bounds how often an editor may ask for blocks: a key that is held down would otherwise start, and cancel, one request to the
// model after the other. It is nil for an execution that it does not hold for.
func (l Limits) generationLimit(request domain.Request) *store.RateLimit {
	target := request.Target()
	if target == "" || l.Generations == NoLimit {
		return nil
	}
	return &store.RateLimit{Target: target, Count: l.Generations, Window: l.GenerationWindow}
}
