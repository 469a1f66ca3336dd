package paging

import (
	"context"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/events/items"
	"signoff/internal/store"
)

const (
	// PortionEvents is the maximum of events behind the stored fold. With fewer events, pages are cheaper and long texts are stored more
	// often.
	PortionEvents = 2000
	// PortionBytes bounds the memory for these events and for the stored items that they change.
	PortionBytes = 8 << 20

	// PageBytes bounds the rows that are read for one page.
	PageBytes = 4 << 20

	readEvents = 1000 // at once
	readBytes  = 1 << 20

	// MaxReaders bounds the readers at the same time, and so their memory.
	MaxReaders = 4
)

// Storage has logs and items. Its methods are those of [store.Store].
type Storage interface {
	EventPage(ctx context.Context, id domain.ExecutionID, after int64, limit, bytes int) ([]domain.Event, error)
	ItemFold(ctx context.Context, id domain.ExecutionID) (domain.ItemFold, error)
	ItemRows(ctx context.Context, id domain.ExecutionID, from, to int64, bytes int) ([]domain.ItemRow, error)
	ItemRowsOf(ctx context.Context, id domain.ExecutionID, to int64, keys []string, bytes int) (rows []domain.ItemRow, complete int, err error)
	SaveItems(ctx context.Context, id domain.ExecutionID, before, after domain.ItemFold, rows []domain.ItemRow) (saved bool, err error)
}

var _ Storage = (*store.Store)(nil)

// Pages reads the items of executions.
type Pages struct {
	storage Storage
	places  chan struct{}
	portion portion
}

// portion bounds the memory of one attempt, and the events behind a stored fold.
type portion struct{ events, bytes int }

// New returns a reader of pages.
func New(storage Storage) *Pages {
	return &Pages{storage: storage, places: make(chan struct{}, MaxReaders), portion: portion{PortionEvents, PortionBytes}}
}

// Page is a part of the items of an execution.
type Page struct {
	Items   []items.Item
	Count   int64 // of all items
	LastSeq int64 // the items are made of the events up to here
}

// Read returns the items of an execution from a place on: at most limit, fewer if they are large, and at least one if there is any.
func (p *Pages) Read(ctx context.Context, execution domain.Execution, from int64, limit int) (Page, error) {
	for {
		page, done, err := p.attempt(ctx, execution, from, limit)
		if done || err != nil {
			return page, err
		}
	}
}

// attempt reads a page, or stores a portion of the events before it. It is not done if it, or another reader, has stored a portion.
func (p *Pages) attempt(ctx context.Context, execution domain.Execution, from int64, limit int) (page Page, done bool, err error) {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return Page{}, false, context.Cause(ctx)
	}
	f, err := p.fold(ctx, execution)
	if err != nil {
		return Page{}, false, err
	}
	page, err = f.read(ctx, execution.LastSeq, from, limit)
	if same, failed := f.isUnchanged(ctx); failed != nil || !same { // the rows may not fit together, which also explains errors
		return Page{}, false, failed
	}
	if err == nil && f.full() {
		return Page{}, false, f.save(ctx)
	}
	return page, true, err
}

// fold is the state of one attempt: a reducer that continues behind the stored fold.
type fold struct {
	storage   Storage
	execution domain.ExecutionID
	stored    domain.ItemFold // as it was found, of any version
	rows      int64           // that the reducer may use: those with a place below it
	keeps     bool            // it may be stored
	reducer   *items.Reducer

	looked     map[string]bool // the keys whose rows were looked for
	held, most portion
}

func (p *Pages) fold(ctx context.Context, execution domain.Execution) (*fold, error) {
	stored, err := p.storage.ItemFold(ctx, execution.ID)
	if err != nil {
		return nil, err
	}
	f := &fold{
		storage: p.storage, execution: execution.ID, stored: stored, keeps: stored.Version <= items.Version, looked: map[string]bool{},
		most: p.portion,
	}
	if stored.Version != items.Version {
		f.reducer = items.New(execution.Request)
		return f, nil
	}
	f.rows = stored.Items
	f.reducer, err = items.Resume(execution.Request, stored)
	return f, err
}

// read folds the log up to last, and returns a page unless there is a portion to store first.
func (f *fold) read(ctx context.Context, last, from int64, limit int) (Page, error) {
	if err := f.takeLog(ctx, last); err != nil || f.full() {
		return Page{}, err
	}
	return f.page(ctx, from, limit)
}

// full reports whether there is a portion to store.
func (f *fold) full() bool {
	return f.keeps && (f.held.events >= f.most.events || f.held.bytes >= f.most.bytes)
}

// takeLog folds the events up to last, or until there is a portion to store.
func (f *fold) takeLog(ctx context.Context, last int64) error {
	for f.reducer.LastSeq() < last && !f.full() {
		limit := min(last-f.reducer.LastSeq(), readEvents)
		if f.keeps {
			limit = min(limit, int64(f.most.events-f.held.events))
		}
		events, err := f.storage.EventPage(ctx, f.execution, f.reducer.LastSeq(), int(limit), readBytes)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return domain.Errorf(domain.CodeNotFound, "The execution was deleted.")
		}
		if err := f.take(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// take folds events, at least one. It ends before an event that changes more stored items than fit.
func (f *fold) take(ctx context.Context, events []domain.Event) error {
	steps := make([]items.Step, len(events))
	for n, event := range events {
		var err error
		if steps[n], err = items.Read(event); err != nil {
			return err
		}
	}
	if err := f.restore(ctx, steps); err != nil {
		return err
	}
	for n, step := range steps {
		if slices.ContainsFunc(f.needs(step), func(key string) bool { return !f.looked[key] }) {
			return nil
		}
		if err := f.reducer.Apply(step); err != nil {
			return err
		}
		f.held.events, f.held.bytes = f.held.events+1, f.held.bytes+len(events[n].Data)
		if f.full() {
			return nil
		}
	}
	return nil
}

// needs returns the keys of stored items that a step may change and that the reducer does not know.
func (f *fold) needs(step items.Step) []string {
	if f.rows == 0 {
		return nil
	}
	return f.reducer.Keys(step)
}

// restore restores the stored items that steps change: all of the first step, and those of later steps that fit.
func (f *fold) restore(ctx context.Context, steps []items.Step) error {
	var keys []string
	wanted, first := map[string]bool{}, 0
	for n, step := range steps {
		for _, key := range f.needs(step) {
			if !f.looked[key] && !wanted[key] {
				wanted[key], keys = true, append(keys, key)
			}
		}
		if n == 0 {
			first = len(keys)
		}
	}
	for found := 0; found < first || found < len(keys) && f.held.bytes < f.most.bytes; {
		rows, complete, err := f.storage.ItemRowsOf(ctx, f.execution, f.rows, keys[found:], f.most.bytes-f.held.bytes)
		if err != nil {
			return err
		}
		if err := f.reducer.Restore(rows); err != nil {
			return err
		}
		for _, row := range rows {
			f.held.bytes += len(row.State)
		}
		for _, key := range keys[found : found+complete] {
			f.looked[key] = true
		}
		found += complete
	}
	return nil
}

// save stores a portion, unless another reader was faster.
func (f *fold) save(ctx context.Context) error {
	after, rows := f.reducer.Stored()
	_, err := f.storage.SaveItems(ctx, f.execution, f.stored, after, rows)
	return err
}

// page returns the items of the reducer and of the stored rows.
func (f *fold) page(ctx context.Context, from int64, limit int) (Page, error) {
	page := Page{Items: []items.Item{}, Count: f.reducer.Count(), LastSeq: f.reducer.LastSeq()}
	from = min(from, page.Count)
	to := min(from+int64(limit), page.Count)
	rows, err := f.storage.ItemRows(ctx, f.execution, from, min(to, f.rows), PageBytes)
	if err != nil {
		return page, err
	}
	for place := from; place < to; place++ {
		item, known := f.reducer.Item(place)
		if at := int(place - from); !known {
			switch {
			case at > 0 && at == len(rows): // there is no room for more
				return page, nil
			case at >= len(rows) || rows[at].Place != place:
				return page, domain.Errorf(domain.CodeInternal, "Item %d is not stored.", place)
			}
			if item, err = items.ReadRow(rows[at]); err != nil {
				return page, err
			}
		}
		page.Items = append(page.Items, item)
	}
	return page, nil
}

// isUnchanged reports whether the stored fold is the same as at the beginning. Then all rows that were read belong to it.
func (f *fold) isUnchanged(ctx context.Context) (bool, error) {
	if f.rows == 0 {
		return true, nil // none was read
	}
	now, err := f.storage.ItemFold(ctx, f.execution)
	return now.Version == f.stored.Version && now.Seq == f.stored.Seq, err
}
