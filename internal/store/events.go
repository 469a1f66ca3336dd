package store

import (
	"context"
	"encoding/json"
	"math"

	"signoff/internal/domain"
)

// Events reads the log of an execution from behind seq after on, at most limit events. It asks for no tenant: who calls
// has read the execution. Past the end it returns none; a log is never read with a hole, also while it
// is written, and one that is being removed is not found.
func (s *Store) Events(ctx context.Context, id domain.ExecutionID, after int64, limit int) ([]domain.Event, error) {
	return s.EventPage(ctx, id, after, limit, math.MaxInt)
}

// EventPage is Events bounded by bytes, too: it ends before the event that would bring their data over so many, but is
// not empty where there is an event. Readers that cannot be hurried, such as clients, must not hold more than that.
func (s *Store) EventPage(ctx context.Context, id domain.ExecutionID, after int64, limit, bytes int) ([]domain.Event, error) {
	if limit <= 0 || after == math.MaxInt64 {
		return nil, nil
	}
	after = max(after, 0)
	// A log has no holes, so a limit is a bound on seq: however the planner reads it, it reads no row too many.
	last := after + min(int64(limit), math.MaxInt64-after)
	events, err := selectBounded(ctx, s, "read events", scanEvent, func(e domain.Event) int { return len(e.Data) }, bytes,
		selectEvents, text(string(id)), after, last)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 && events[0].Seq != after+1 { // the execution is deleted, and its first events are gone already
		return nil, notFound("execution")
	}
	return events, nil
}

// EventsOfType reads the events of one type after a seq, up to a limit and up to about a number of bytes. It does not check the tenant: the caller has read the
// execution.
func (s *Store) EventsOfType(
	ctx context.Context, id domain.ExecutionID, of domain.EventType, after int64, limit, bytes int,
) ([]domain.Event, error) {
	return selectBounded(ctx, s, "read events of a type", scanEvent, func(e domain.Event) int { return len(e.Data) }, bytes, `
		select execution_id, seq, type, time_us, data from events
		where execution_id = $1 and type = $2 and seq > $3 order by seq limit $4`, text(string(id)), string(of), after, limit)
}

const selectEvents = `
	select execution_id, seq, type, time_us, data from events
	where execution_id = $1 and seq > $2 and seq <= $3 order by seq`

func scanEvent(row scanner) (domain.Event, error) {
	var (
		event domain.Event
		us    int64
		data  []byte
	)
	err := row.Scan(&event.Execution, &event.Seq, &event.Type, &us, &data)
	event.Time, event.Data = timeOf(us), json.RawMessage(eventFromRow(event.Type, data))
	return event, err
}
