package items

import (
	"iter"
	"maps"
	"slices"

	"signoff/internal/domain"
)

// Reducer makes items of the events of one log. It is for one goroutine.
type Reducer struct {
	request  domain.Request
	external bool // another program answers the prompts
	turn     int

	resumed  int64            // the events up to here are in what is stored
	event    domain.Event     // that is being taken; at the end, the newest one
	count    int64            // of the items; their places are those below it
	items    map[int64]*item  // by place: all of them, but for those that are stored and were not restored
	messages map[string]*item // by the item's id
	calls    map[string]*call
	current  *item  // the newest generation of blocks
	stored   string // its id, as long as it is not restored
}

// item is one that may change.
type item struct {
	Item
	place   int64
	text    text // of a message, or of reasoning
	changed bool // since Changed was called
}

// New returns a reducer for the log of an execution. The first prompt stands in its request, not in its log.
func New(request domain.Request) *Reducer {
	return &Reducer{request: request, items: map[int64]*item{}, messages: map[string]*item{}, calls: map[string]*call{}}
}

// LastSeq is the seq of the newest event that was taken.
func (r *Reducer) LastSeq() int64 { return r.event.Seq }

// Count is how many items there are, also stored ones.
func (r *Reducer) Count() int64 { return r.count }

// Item returns the item at a place. It is unknown where it is stored and was not restored.
func (r *Reducer) Item(place int64) (i Item, known bool) {
	held, known := r.items[place]
	if known {
		i = held.clone()
	}
	return i, known
}

// Items returns all items that are known.
func (r *Reducer) Items() []Item {
	all := make([]Item, 0, len(r.items))
	for i := range r.known() {
		all = append(all, i.clone())
	}
	return all
}

// Changed returns the items that are new, or have changed, since it was called before.
func (r *Reducer) Changed() []Item {
	changed := []Item{}
	for i := range r.known() {
		if i.changed {
			changed = append(changed, i.clone())
			i.changed = false
		}
	}
	return changed
}

func (r *Reducer) known() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, place := range slices.Sorted(maps.Keys(r.items)) {
			if !yield(r.items[place]) {
				return
			}
		}
	}
}

// add begins an item with the event that is being taken.
func (r *Reducer) add(i Item) *item {
	i.FirstSeq, i.CreatedAt = r.event.Seq, r.event.Time
	added := &item{Item: i, place: r.count}
	r.items[added.place] = added
	r.count++
	r.touch(added)
	return added
}

// touch notes that the event that is being taken has changed an item.
func (r *Reducer) touch(i *item) {
	i.LastSeq, i.UpdatedAt, i.changed = r.event.Seq, r.event.Time, true
}

// call is a tool call and what it changes.
type call struct {
	*item
	queued  bool // it may run, and waits for a slot
	awaits  domain.Awaited
	lost    bool           // its server stopped while it ran, and it has not started again
	outcome domain.Outcome // empty: it has none yet
	printed text

	changes   []*change
	described digest // of the arguments that changes were read from
}

// digest reports whether arguments are new without keeping the old ones, which may be large.
type digest string

// change is what a call makes of one file, as an item. One that newer words of the call have dropped is not current.
type change struct {
	*item
	key     changeKey
	current bool
}

// changeKey finds a change again when its call is described anew: the same path, and the how manieth of that path.
type changeKey struct {
	path  string
	place int
}
