package writers

import (
	"fmt"
	"os"
	"sync"
)

// Observer watches folders for writers outside the sandboxes.
type Observer struct {
	ended chan struct{} // the reader has ended

	mu      sync.Mutex
	group   *group
	watches map[*Watch]bool
	marks   map[uint64]int // the number of views that need the mark, by mount
	closed  bool
}

// New returns an observer, or an error that says why it cannot see writers outside the sandboxes.
func New() (*Observer, error) {
	g, err := newGroup()
	if err != nil {
		return nil, fmt.Errorf("writers outside the sandbox cannot be seen: %w", err)
	}
	o := &Observer{group: g, watches: map[*Watch]bool{}, marks: map[uint64]int{}, ended: make(chan struct{})}
	go o.follow()
	return o, nil
}

// Blind tells people which writers the observer cannot see because of the place where it runs; empty: there are none.
func (*Observer) Blind() string {
	if namespace("self", "pid") != initialPIDNamespace {
		return "The server runs in a PID namespace of its own, as in a container: it does not see writers outside, on the host or in other containers."
	}
	return ""
}

// Close ends the observer. The sightings of the watches that are left are Lost.
func (o *Observer) Close() error {
	o.mu.Lock()
	o.closed = true
	for w := range o.watches {
		w.lost = true
	}
	o.mu.Unlock()
	err := o.group.close() // waits for the reader, which may wait for the lock
	<-o.ended
	return err
}

// Watch begins to look for writers below a folder, which is absolute and has no links in it. It ignores the excluded paths, which are relative to the folder.
func (o *Observer) Watch(folder string, excluded ...string) (*Watch, error) {
	views, err := viewsOf(folder)
	if err != nil {
		return nil, fmt.Errorf("writers in %s cannot be seen: %w", folder, err)
	}
	w := &Watch{observer: o, views: views, excluded: excluded, seen: map[string]bool{}}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.mark(views); err != nil {
		closeAll(views)
		return nil, fmt.Errorf("writers in %s cannot be seen: %w", folder, err)
	}
	o.drain() // the queue may have older events, if another watch has marked the same mount
	o.watches[w] = true
	return w, nil
}

// mark marks the mounts of the views, or none of them.
func (o *Observer) mark(views []view) error {
	if o.closed {
		return os.ErrClosed
	}
	for i, v := range views {
		if o.marks[v.mount] == 0 {
			if err := o.group.mark(v.folder); err != nil {
				o.unmark(views[:i])
				return err
			}
		}
		o.marks[v.mount]++
	}
	return nil
}

func (o *Observer) unmark(views []view) {
	for _, v := range views {
		if o.marks[v.mount]--; o.marks[v.mount] > 0 {
			continue
		}
		delete(o.marks, v.mount)
		if !o.closed {
			_ = o.group.unmark(v.folder) // the mount may be gone, and its mark with it
		}
	}
}

// follow reads the events at once, so that the queue does not overflow.
func (o *Observer) follow() {
	defer close(o.ended)
	o.group.wait(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.drain()
	})
}

// drain takes the events that are in the queue now. The kernel queues an event before the system call that it is about returns.
func (o *Observer) drain() {
	if o.closed {
		return
	}
	own, located := int32(os.Getpid()), false
	err := o.group.read(func(e event) {
		if e.pid == own {
			return
		}
		for w := range o.watches {
			if !located {
				w.locate()
			}
			w.take(e)
		}
		located = true
	})
	if err != nil {
		for w := range o.watches {
			w.lost = true
		}
	}
}
