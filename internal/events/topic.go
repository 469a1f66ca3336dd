package events

import (
	"maps"
	"slices"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	tailFrames = 512
	tailBytes  = 256 << 10

	firstEvents = 8
	firstBytes  = 2 << 10
)

// topics holds the topic of each execution that is followed or watched now.
type topics struct {
	mu   sync.Mutex
	byID map[domain.ExecutionID]*topic
}

// join returns the topic of id and counts one more user, who must call leave once.
func (ts *topics) join(id domain.ExecutionID) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, known := ts.byID[id]
	if !known {
		t = &topic{id: id, foreignWrites: -1}
		ts.byID[id] = t
	}
	t.users++
	return t
}

func (ts *topics) leave(t *topic) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.users--
	if t.users == 0 {
		delete(ts.byID, t.id)
	}
}

func (ts *topics) find(id domain.ExecutionID) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byID[id]
}

func (ts *topics) all() []*topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.AppendSeq(make([]*topic, 0, len(ts.byID)), maps.Values(ts.byID))
}

// some returns the topics of ids that exist.
func (ts *topics) some(ids map[domain.ExecutionID]bool) []*topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	some := make([]*topic, 0, len(ids))
	for id := range ids {
		if t := ts.byID[id]; t != nil {
			some = append(some, t)
		}
	}
	return some
}

// topic is shared by the followers of one execution: the tail of frames and the listeners.
type topic struct {
	id    domain.ExecutionID
	users int // guarded by topics.mu

	mu            sync.Mutex
	head          int64   // the newest seq known to be in the store
	tail          []Frame // without a hole, the last one at most at head; followers share it, so what is in it stays as it is
	bytes         int
	first         []domain.Event // of an execution without a follower so far; see keep
	followers     int            // frames are encoded only while there is one
	gone          bool           // the execution was deleted
	foreign       int            // writes of others than the driver
	foreignWrites int64
	listeners     []chan struct{}
}

func (t *topic) publish(events []domain.Event, foreign bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if foreign {
		t.foreign++
	}
	for _, event := range events {
		if t.followers > 0 {
			t.push(NewFrame(event))
		} else {
			t.keep(event)
		}
	}
	if len(events) > 0 {
		t.head = max(t.head, events[len(events)-1].Seq)
	}
	t.notifyLocked()
}

// keep holds the first few events of an execution for its first follower: most clients follow an execution that they have just
// created, and would read from the store what was written a moment ago. Once it cannot keep all events, it keeps none.
func (t *topic) keep(event domain.Event) {
	if next := int64(len(t.first)) + 1; event.Seq != next {
		return
	}
	t.first = append(t.first, event)
	size := 0
	for _, event := range t.first {
		size += len(event.Data)
	}
	if len(t.first) > firstEvents || size > firstBytes {
		t.first = nil
	}
}

// push appends to the tail. Where another replica wrote in between, the tail begins anew behind the hole, and
// followers read the hole from the store.
func (t *topic) push(frame Frame) {
	if n := len(t.tail); n > 0 && t.tail[n-1].Seq+1 != frame.Seq {
		t.tail, t.bytes = nil, 0
	}
	t.tail = append(t.tail, frame)
	t.bytes += len(frame.SSE)
	drop := 0
	for len(t.tail)-drop > tailFrames || (t.bytes > tailBytes && len(t.tail)-drop > 1) {
		t.bytes -= len(t.tail[drop].SSE)
		drop++
	}
	t.tail = t.tail[drop:]
}

// after returns the frames behind seq. Where the tail does not hold the very next one, covered is false: it may not
// reach back that far, and where another replica has written it does not reach the head.
func (t *topic) after(seq int64) (frames []Frame, covered bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return nil, false, errDeleted(t.id)
	}
	if seq >= t.head {
		return nil, true, nil
	}
	if n := len(t.tail); n == 0 || seq+1 < t.tail[0].Seq || seq+1 > t.tail[n-1].Seq {
		return nil, false, nil
	}
	return slices.Clip(t.tail[seq+1-t.tail[0].Seq:]), true, nil
}

// raiseHead raises the known head.
func (t *topic) raiseHead(head int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = max(t.head, head)
}

func (t *topic) known() store.KnownHead {
	t.mu.Lock()
	defer t.mu.Unlock()
	return store.KnownHead{Execution: t.id, LastSeq: t.head, ForeignWrites: t.foreignWrites}
}

// polled applies a head from the store. The first head counts as a foreign write, because earlier ones are unknown. It reports
// whether there are new events.
func (t *topic) polled(head store.Head) (grown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if head.LastSeq <= t.head && head.ForeignWrites == t.foreignWrites {
		return false
	}
	grown = head.LastSeq > t.head
	t.gone = t.gone || head.Deleted
	t.head = max(t.head, head.LastSeq)
	if head.ForeignWrites != t.foreignWrites {
		t.foreignWrites = head.ForeignWrites
		t.foreign++
	}
	t.notifyLocked()
	return grown
}

// forget ends the followers, and notifies the driver of a foreign write.
func (t *topic) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.foreign++
	t.notifyLocked()
}

func (t *topic) subscribe(follower bool) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	notified := make(chan struct{}, 1)
	t.listeners = append(t.listeners, notified)
	if follower {
		t.followers++
		for _, event := range t.first {
			t.push(NewFrame(event))
		}
		t.first = nil
	}
	return notified
}

// listen notifies a channel that other topics may notify, too.
func (t *topic) listen(notified chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = append(t.listeners, notified)
}

func (t *topic) isGone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

func (t *topic) unsubscribe(notified chan struct{}, follower bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = slices.DeleteFunc(t.listeners, func(b chan struct{}) bool { return b == notified })
	if !follower {
		return
	}
	t.followers--
	if t.followers == 0 {
		t.tail, t.bytes = nil, 0
	}
}

func (t *topic) notifyLocked() {
	for _, listener := range t.listeners {
		signal(listener)
	}
}

func errDeleted(id domain.ExecutionID) error {
	return domain.Errorf(domain.CodeNotFound, "Execution %s does not exist any more.", id)
}
