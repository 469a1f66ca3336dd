package dispatch

// A server drives so many executions at once and no more. What is created beyond that is queued: a row that whichever replica
// has room takes up. So overload costs disk, and then it is refused; it never becomes memory.

// Limits bounds the load that a server takes on. 0 is the default. Sessions that begin while the queue is read may exceed the bounds of
// sessions for a moment, and so may those that wake.
type Limits struct {
	Live            int // sessions of this server; 0 = 1000
	LivePerTenant   int // of them, of one tenant; 0 = all
	Queued          int // executions in the queue, which all replicas share; 0 = 10,000; see [NoQueue]
	QueuedPerTenant int // of one tenant; 0 = 1000
	Events          int // in the log of an execution; 0 = 2,000,000. Some hundreds of them are kept for its end
	Commands        int // that this server runs at once; 0 = 16
}

// NoQueue as a bound of the queue refuses what there is no room for at once.
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
	return l
}

// woken is how many times the limit a server drives when what was parked wakes: what was admitted once does not queue again, since
// somebody waits for it, but all at once must not be too much either.
const woken = 2
