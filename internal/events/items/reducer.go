package items

import (
	"slices"

	"signoff/internal/domain"
)

// Reducer makes items of the events of one log. It is for one goroutine.
type Reducer struct {
	request  domain.Request
	external bool // another program answers the prompts
	turn     int

	event   domain.Event // that is being taken; at the end, the newest one
	items   []*item
	speech  map[string]*item // by the item's id
	calls   map[string]*call
	current *item // the newest generation of blocks
}

// item is one that may change.
type item struct {
	Item
	text    text // of a message, or of reasoning
	changed bool // since Changed was called
}

// New returns a reducer for the log of an execution. The first prompt stands in its request, not in its log.
func New(request domain.Request) *Reducer {
	return &Reducer{request: request, speech: map[string]*item{}, calls: map[string]*call{}}
}

// Reduce returns the items of a whole log, or of its beginning.
func Reduce(request domain.Request, log []domain.Event) ([]Item, error) {
	reducer := New(request)
	for _, event := range log {
		if err := reducer.Take(event); err != nil {
			return nil, err
		}
	}
	return reducer.Items(), nil
}

// Take takes the next event. One that was taken before changes nothing, and nor does one that fails.
func (r *Reducer) Take(event domain.Event) error {
	last := r.event
	switch {
	case event.Seq <= last.Seq:
		return nil
	case event.Seq > last.Seq+1:
		return domain.Errorf(domain.CodeInternal, "The log has a hole: event %d follows event %d.", event.Seq, last.Seq)
	}
	r.event = event
	if err := r.take(event); err != nil {
		r.event = last
		return err
	}
	return nil
}

// LastSeq is the seq of the newest event that was taken.
func (r *Reducer) LastSeq() int64 { return r.event.Seq }

// Items returns all items.
func (r *Reducer) Items() []Item {
	all := make([]Item, 0, len(r.items))
	for _, i := range r.items {
		all = append(all, i.clone())
	}
	return all
}

// Changed returns the items that are new, or have changed, since it was called before.
func (r *Reducer) Changed() []Item {
	changed := []Item{}
	for _, i := range r.items {
		if i.changed {
			changed = append(changed, i.clone())
			i.changed = false
		}
	}
	return changed
}

// told are the types of events that items are made of. The other ones are not even read.
var told = []domain.EventType{
	domain.ExecutionCreatedType, domain.TurnStartedType, domain.TurnEndedType,
	domain.MessageDeltaType, domain.MessageCompletedType, domain.ThoughtDeltaType, domain.ThoughtCompletedType,
	domain.ToolCallRequestedType, domain.ToolCallQueuedType, domain.ToolCallStartedType, domain.ToolCallUpdatedType, domain.ToolCallReportedType,
	domain.ToolCallCompletedType, domain.ApprovalRequestedType, domain.ApprovalResolvedType,
	domain.BlocksGeneratedType, domain.BlocksAcceptedType,
	domain.ExecutionCompletedType, domain.ExecutionFailedType, domain.ExecutionCancelledType, domain.ExecutionTimedOutType,
}

func (r *Reducer) take(event domain.Event) error {
	if !slices.Contains(told, event.Type) {
		return nil
	}
	payload, err := event.Payload()
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "Event %d of the log cannot be read.", event.Seq).With(err)
	}
	switch p := payload.(type) {
	case domain.ExecutionCreated:
		r.begin(p)
	case domain.TurnStarted:
		r.turn = p.Turn
		r.prompted(p)
	case domain.TurnEnded:
		r.turn = 0
	case domain.BlocksGenerated:
		r.generated(p)
	case domain.BlocksAccepted:
		r.accepted(p)
	case domain.ExecutionEnded:
		r.ended()
	default:
		return r.takeSpeech(payload)
	}
	return nil
}

// add begins an item with the event that is being taken.
func (r *Reducer) add(i Item) *item {
	i.FirstSeq, i.CreatedAt = r.event.Seq, r.event.Time
	added := &item{Item: i}
	r.items = append(r.items, added)
	r.touch(added)
	return added
}

// touch notes that the event that is being taken has changed an item.
func (r *Reducer) touch(i *item) {
	i.LastSeq, i.UpdatedAt, i.changed = r.event.Seq, r.event.Time, true
}
