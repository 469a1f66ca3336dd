package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"signoff/internal/domain"
)

// FeedEvent is an event and its place in the feed.
type FeedEvent struct {
	domain.Event
	Cursor FeedCursor
}

// FeedPage is a piece of the feed.
type FeedPage struct {
	Events []FeedEvent
	// More tells that the page ends where it does because of its bounds.
	More bool
	// Later tells that changes are written which no page may have yet: who has everything asks again soon.
	Later bool
}

// Feed reads the events of all executions of a tenant from behind the cursor after on: at most limit, and it ends before
// the one that would bring their data over so many bytes, but is not empty where there is an event. Whoever goes on from
// the cursor of the last event sees every event once, and those of one execution in the order of their seqs. The events
// of an execution that was deleted are gone from here, too. A cursor beyond the end is domain.CodeCursorBeyondHead: to
// wait there could mean to skip events.
//
// # Nothing is skipped
//
// Numbers that are given out in transactions become visible in another order: 7 commits, a reader takes it and goes on
// from there, and then 6 commits. So the feed is ordered by key, which is at least the number of the writing transaction,
// and a page ends below the lowest number that is still open (feed_end). A transaction that is open then, or begins
// later, has a number and so keys from there on: nothing can come in below what was read, however late it commits.
//
// # In order per execution
//
// Numbers of transactions do not say who wrote first: 6 may wait for the lock of a head that 7 holds, and write after it.
// So each head remembers the highest key of its changes, and a change gets that one or its own, whichever is higher, in
// the update that gives it its seqs. Where the keys are equal the position decides: it is given out later, but under the
// same lock. So (key, position) grows with seq, and a change of the execution that is not readable yet hides none that
// follows it.
//
// On SQLite, one writer commits after the other: all keys are 0 there, and nothing is ever held back.
func (s *Store) Feed(ctx context.Context, tenant domain.TenantID, after FeedCursor, limit, bytes int) (FeedPage, error) {
	limit = min(max(limit, 0), maxFeedLimit)
	page, foreign, err := s.feedPage(ctx, tenant, after, limit, bytes)
	if err == nil && foreign {
		err = s.adoptFeed(ctx)
	}
	if err != nil {
		return FeedPage{}, s.failed("read the feed", err)
	}
	return page, nil
}

const maxFeedLimit = 10_000

func (s *Store) feedPage(ctx context.Context, tenant domain.TenantID, after FeedCursor, limit, bytes int,
) (page FeedPage, foreign bool, err error) {
	reading := feedReading{after: after, bytes: bytes}
	// The change of the cursor is found again, also where nothing of it is left to read, so one more is asked for.
	found, err := collect(ctx, s.read, reading.scan, selectFeed,
		text(string(tenant)), after.Key, after.Position, after.Seq, limit+1, limit)
	if err != nil {
		return FeedPage{}, false, err
	}
	if !found[0].there { // nothing but where the feed ends
		found = nil
	}
	page = FeedPage{Events: make([]FeedEvent, len(found)), More: reading.cut || len(found) == limit, Later: reading.later}
	for i, row := range found {
		page.Events[i] = row.FeedEvent
	}
	return page, reading.foreign, nil
}

// selectFeed is one statement, so that all of it is of one moment. Its first row says where the feed ends, also where
// there is no event. The changes are chosen before their events are looked up, whatever the planner thinks of them.
const selectFeed = `
	with changes as (
		select key, position, execution_id, first_seq, last_seq from feed
		where tenant_id = $1 and (key, position) >= ($2, $3) and key < (select key from feed_end)
		order by key, position limit $5
	), page as (
		select c.key, c.position, e.execution_id, e.seq, e.type, e.time_us, e.data
		from changes c cross join events e
		where e.execution_id = c.execution_id and e.seq between c.first_seq and c.last_seq
			and (c.key, c.position, e.seq) > ($2, $3, $4)
		order by c.key, c.position, e.seq limit $6
	)
	select feed_end.key, feed_end.top, feed_end.position,
		coalesce((select f.key from feed f where f.tenant_id = $1 order by f.key desc limit 1), 0),
		page.execution_id, page.seq, page.type, page.time_us, page.data, page.key, page.position
	from feed_end left join page on true
	order by page.key, page.position, page.seq`

// feedReading is what one reading has found out so far.
type feedReading struct {
	after FeedCursor
	bytes int
	left  int        // of bytes
	last  FeedCursor // of the row before
	cut   bool       // there was a row too much

	later   bool // keys reach beyond the end
	foreign bool // keys reach beyond the top
}

// feedRow is a row of selectFeed.
type feedRow struct {
	FeedEvent
	there bool // it has an event
}

func (r *feedReading) scan(row scanner) (feedRow, error) {
	var (
		end                    FeedCursor
		top, highest           int64
		execution, kind        sql.NullString
		seq, us, key, position sql.NullInt64
		data                   []byte
	)
	err := row.Scan(&end.Key, &top, &end.Position, &highest, &execution, &seq, &kind, &us, &data, &key, &position)
	if err != nil {
		return feedRow{}, err
	}
	r.later, r.foreign = highest >= end.Key, highest >= top
	switch {
	case r.after.Key >= end.Key || r.after.Position > end.Position:
		return feedRow{}, domain.Errorf(domain.CodeCursorBeyondHead,
			"The merged stream does not reach that far; there is no such place to go on from.")
	case !seq.Valid:
		return feedRow{}, nil
	}
	event := FeedEvent{Cursor: FeedCursor{key.Int64, position.Int64, seq.Int64}, Event: domain.Event{
		Execution: domain.ExecutionID(execution.String), Seq: seq.Int64, Type: domain.EventType(kind.String),
		Time: timeOf(us.Int64), Data: json.RawMessage(data),
	}}
	return feedRow{event, true}, r.within(event)
}

// within is errEnough for an event that would be too much.
func (r *feedReading) within(event FeedEvent) error {
	if event.Cursor.Compare(r.last) <= 0 || r.last == (FeedCursor{}) { // the first row, also of a reading that is done again
		r.left, r.cut = r.bytes, false
	} else if len(event.Data) > r.left {
		r.cut = true
		return errEnough
	}
	r.left -= len(event.Data)
	r.last = event.Cursor
	return nil
}

// FeedHead returns the cursor of the newest event that a page may have, to go on from there: what is written from now on
// lies behind it. Without any event it is the zero value.
func (s *Store) FeedHead(ctx context.Context, tenant domain.TenantID) (FeedCursor, error) {
	head, err := one(ctx, s.read, func(row scanner) (c FeedCursor, err error) {
		return c, row.Scan(&c.Key, &c.Position, &c.Seq)
	}, `
		select key, position, last_seq from feed
		where tenant_id = $1 and key < (select key from feed_end)
		order by key desc, position desc limit 1`, text(string(tenant)))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return FeedCursor{}, s.failed("read the end of the feed", err)
	}
	return head, nil
}

// adoptFeed gives what was written under the numbers of another server a key of this one. Where a dump was restored, the
// numbers begin anew, and what came with it would be readable when they have got that far: years later. To a reader this is
// a change like any other. Heads are locked as everywhere, by id. No key of an execution falls below one that it keeps,
// and among equal keys the positions are in order.
func (s *Store) adoptFeed(ctx context.Context) error {
	return s.transact(ctx, "adopt the feed of another server", func(tx *sql.Tx) error {
		for _, statement := range []string{
			`update execution_heads set feed_key = change_key() where execution_id in (
				select execution_id from execution_heads where feed_key > change_key()
				order by execution_id` + s.dialect.lock + `)`,
			`update feed set key = change_key() where key > change_key()`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
