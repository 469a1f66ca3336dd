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
	external bool // an external agent answers the prompts
	turn     int

	resumed  int64            // the events up to here are in the stored rows
	event    domain.Event     // the event that is being applied, or the newest one
	count    int64            // of the items; their places are below it
	items    map[int64]*item  // by place: all except stored ones that were not restored
	messages map[string]*item // by the item's id
	calls    map[string]*call
	current  *item  // the newest generation of blocks
	stored   string // its id while it is not restored

	delegates []*delegate // in the order of their creation
}

// item is one that may change.
type item struct {
	Item
	place   int64
	text    text // of a message, or of reasoning
	changed bool // since Changed was called
}

// New returns a reducer for the log of an execution. The first prompt is in the request, not in the log.
func New(request domain.Request) *Reducer {
	return &Reducer{request: request, items: map[int64]*item{}, messages: map[string]*item{}, calls: map[string]*call{}}
}

// LastSeq returns the seq of the newest event.
func (r *Reducer) LastSeq() int64 { return r.event.Seq }

// Count returns the number of items, including stored ones.
func (r *Reducer) Count() int64 { return r.count }

// Item returns the item at a place. A stored item is unknown until it is restored.
func (r *Reducer) Item(place int64) (i Item, known bool) {
	held, known := r.items[place]
	if known {
		i = held.clone()
	}
	return i, known
}

// Items returns all known items.
func (r *Reducer) Items() []Item {
	all := make([]Item, 0, len(r.items))
	for i := range r.known() {
		all = append(all, i.clone())
	}
	return all
}

// Changed returns the items that are new or have changed since its last call.
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

// add adds an item that begins with the current event.
func (r *Reducer) add(i Item) *item {
	i.FirstSeq, i.CreatedAt = r.event.Seq, r.event.Time
	added := &item{Item: i, place: r.count}
	r.items[added.place] = added
	r.count++
	r.touch(added)
	return added
}

// touch marks an item as changed by the current event.
func (r *Reducer) touch(i *item) {
	i.LastSeq, i.UpdatedAt, i.changed = r.event.Seq, r.event.Time, true
}

// call is a tool call with its changes.
type call struct {
	*item
	queued  bool // it may run and waits for others to end
	awaits  domain.Awaited
	lost    bool           // it has begun and does not run: its server stopped, or its MCP server has asked; it has not been started again
	outcome domain.Outcome // empty: it has none yet
	printed text

	changes   []*change
	described digest // of the arguments that changes were read from
}

// digest detects new arguments without keeping the old ones, which may be large.
type digest string

// change is the change of a call to one file. It is not current if a newer description of the call leaves it out.
type change struct {
	*item
	key     changeKey
	current bool
}

// changeKey identifies a change when its call is described again: by the path, and by its number among the changes of that path.
type changeKey struct {
	path  string
	place int
}
