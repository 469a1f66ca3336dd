package store

import (
	"cmp"
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// FeedEvent is an event and its place in the feed.
type FeedEvent struct {
	domain.Event
	Cursor FeedCursor
	Agent  FeedAgent
}

// FeedAgent is the agent of the execution that an event belongs to.
type FeedAgent struct {
	Type domain.SourceType `json:"type"`
	Name string            `json:"name"` // in the registry: of an external agent, or of the model of the internal one
}

// FeedPage is a piece of the feed.
type FeedPage struct {
	Events []FeedEvent
	// More: there may be more events. The page ends at one of its bounds, or an execution was deleted while it was read.
	More bool
	// Later: changes are written that no page may have yet. A reader who has everything asks again soon.
	Later bool
}

// Feed reads the events of all executions of a tenant behind the cursor after: at most limit, and it ends before the event with which their data
// would exceed bytes, but not before the first one. A reader that continues from the cursor of the last event sees every event once, and those of one
// execution in the order of their seqs. The events of a deleted execution are gone from here, too. A cursor beyond the end is
// domain.CodeCursorBeyondHead: waiting there could skip events.
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
	return s.feedBehind(ctx, after, limit, bytes, selectChanges, text(string(tenant)))
}

// FeedOfTree is [Store.Feed], limited to a root and the executions below it.
func (s *Store) FeedOfTree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID, after FeedCursor, limit, bytes int) (FeedPage, error) {
	return s.feedBehind(ctx, after, limit, bytes, selectTreeChanges, text(string(tenant)), text(string(root)))
}

func (s *Store) feedBehind(ctx context.Context, after FeedCursor, limit, bytes int, changes string, of ...any) (FeedPage, error) {
	limit = min(max(limit, 0), maxFeedLimit)
	page, foreign, err := s.feedPage(ctx, after, limit, bytes, changes, of)
	if err == nil && foreign {
		err = s.adoptFeed(ctx)
	}
	if err != nil {
		return FeedPage{}, s.failed("read the feed", err)
	}
	return page, nil
}

const maxFeedLimit = rowsAtOnce

// feedPage looks the events up in a second statement, one by one: as a join of ranges the planner of Postgres reads the
// whole log for a page. What is deleted in between is gone, and the page says that there may be more.
func (s *Store) feedPage(ctx context.Context, after FeedCursor, limit, bytes int, selected string, of []any) (page FeedPage, foreign bool, err error) {
	// The change of the cursor is found again, also where nothing of it is left to read, so one more is asked for.
	changes, err := collect(ctx, s.read, func(row scanner) (c feedChange, err error) {
		return c, row.Scan(&c.endKey, &c.top, &c.endPosition, &c.highest, &c.key, &c.position, &c.execution, &c.first, &c.last)
	}, selected, append([]any{after.Key, after.Position, limit + 1}, of...)...)
	if err != nil {
		return page, false, err
	}
	end := changes[0] // every row has it
	if after.Key >= end.endKey || after.Position > end.endPosition {
		return page, false, domain.Errorf(domain.CodeCursorBeyondHead,
			"The merged stream does not reach that far; there is no such place to go on from.")
	}
	wanted := placesBehind(after, changes, limit)
	if page.Events, err = s.feedEvents(ctx, wanted, bytes); err != nil {
		return page, false, err
	}
	page.More = len(wanted) == limit || len(page.Events) < len(wanted)
	page.Later = end.highest >= end.endKey
	return page, end.highest >= end.top, nil
}

// selectChanges is one statement, so that all of it is of one moment. There is a row also where there is no change. The rest
// of the cursor's key and the keys after it are looked for apart: of a condition on the pair SQLite uses the key alone, which
// is the same everywhere there, and would walk through the whole feed.
var selectChanges = `
	with behind as (
		select * from (
			select key, position, execution_id, first_seq, last_seq from feed
			where tenant_id = $4 and key = $1 and position >= $2 and ` + keptIn("feed") + `
			order by position limit $3) of_key
		union all
		select * from (
			select key, position, execution_id, first_seq, last_seq from feed
			where tenant_id = $4 and key > $1 and key < (select key from feed_end) and ` + keptIn("feed") + `
			order by key, position limit $3) of_later_keys
		order by key, position limit $3
	)` + selectBehind

// selectTreeChanges finds all changes of the tree behind the cursor before it orders them. With the limit in the same select, a planner would read all later
// changes of the tenant, even for a tree with few changes.
var selectTreeChanges = `
	with of_tree as materialized (
		select key, position, execution_id, first_seq, last_seq from feed
		where tenant_id = $4 and key >= $1 and (key > $1 or position >= $2) and key < (select key from feed_end)
			and execution_id in (` + idsOfTree("$5") + `) and ` + keptIn("feed") + `
	), behind as (
		select * from of_tree order by key, position limit $3
	)` + selectBehind

// idsOfTree are the ids of a root and of the executions below it.
func idsOfTree(root string) string {
	return `select execution_id as id from children where root_id = ` + root + ` union all select id from executions where id = ` + root
}

const selectBehind = `
	select feed_end.key, feed_end.top, feed_end.position,
		coalesce((select f.key from feed f where f.tenant_id = $4 order by f.key desc limit 1), 0),
		coalesce(c.key, 0), coalesce(c.position, 0), coalesce(c.execution_id, ''), coalesce(c.first_seq, 1), coalesce(c.last_seq, 0)
	from feed_end left join behind c on true
	order by c.key, c.position`

// feedChange is a change, and how far the feed reaches.
type feedChange struct {
	endKey, top, endPosition int64 // of feed_end
	highest                  int64 // key that the tenant has

	key, position int64
	execution     domain.ExecutionID
	first, last   int64 // no events where there is no change
}

// placesBehind lists the events of changes that lie behind a cursor, as rows of a list, at most limit.
func placesBehind(after FeedCursor, changes []feedChange, limit int) (places [][]any) {
	for _, c := range changes {
		for seq := c.first; seq <= c.last && len(places) < limit; seq++ {
			if after.Compare(FeedCursor{c.key, c.position, seq}) < 0 {
				places = append(places, []any{c.key, c.position, string(c.execution), seq})
			}
		}
	}
	return places
}

func (s *Store) feedEvents(ctx context.Context, places [][]any, bytes int) ([]FeedEvent, error) {
	if len(places) == 0 {
		return nil, nil
	}
	scan := func(row scanner) (e FeedEvent, err error) {
		var agent, model string
		e.Event, err = scanEvent(scanFirst{scanFirst{scanFirst{scanFirst{scanFirst{row, &e.Cursor.Key}, &e.Cursor.Position}, &e.Agent.Type}, &agent}, &model})
		e.Agent.Name = cmp.Or(agent, model)
		e.Cursor.Seq = e.Seq
		return e, err
	}
	with, args := s.dialect.with(list{columns(`key bigint, position bigint, id text, seq bigint`), places})
	return selectBounded(ctx, s, "read the feed", scan, func(e FeedEvent) int { return len(e.Data) }, bytes, with+`
		select v.key, v.position, x.source_type, x.agent, x.model, e.execution_id, e.seq, e.type, e.time_us, e.data
		from v cross join events e cross join executions x where e.execution_id = v.id and e.seq = v.seq and x.id = v.id
		order by v.key, v.position, v.seq`, args...)
}

// FeedHead returns the cursor of the newest event that a page may have, to go on from there: what is written from now on
// lies behind it. Without any event it is the zero value.
func (s *Store) FeedHead(ctx context.Context, tenant domain.TenantID) (FeedCursor, error) {
	return selectFirst(ctx, s, "read the end of the feed", func(row scanner) (c FeedCursor, err error) {
		return c, row.Scan(&c.Key, &c.Position, &c.Seq)
	}, `
		select key, position, last_seq from feed
		where tenant_id = $1 and key < (select key from feed_end)
		order by key desc, position desc limit 1`, text(string(tenant)))
}

// EndOfTree returns the place of the last event of a root and the executions below it, once all of them have ended: nothing comes after it.
func (s *Store) EndOfTree(ctx context.Context, root domain.ExecutionID) (end FeedCursor, ended bool, err error) {
	type place struct {
		FeedCursor
		live int
	}
	last, err := selectFirst(ctx, s, "read the end of a tree", func(row scanner) (p place, err error) {
		return p, row.Scan(&p.live, &p.Key, &p.Position, &p.Seq)
	}, `
		with ids as (`+idsOfTree("$1")+`)
		select (select count(*) from execution_heads h join ids on ids.id = h.execution_id where h.ended = 0), f.key, f.position, f.last_seq
		from feed f join ids on ids.id = f.execution_id
		order by f.key desc, f.position desc limit 1`, text(string(root)))
	return last.FeedCursor, last.live == 0 && last.Seq > 0, err
}

// adoptFeed gives what was written under the numbers of another server a key of this one. Where a dump was restored, the
// numbers begin anew, and what came with it would be readable when they have got that far: years later. To a reader this is
// a change like any other. Heads are locked as everywhere, by id. No key of an execution falls below one that it keeps,
// and among equal keys the positions are in order.
func (s *Store) adoptFeed(ctx context.Context) error {
	return s.transact(ctx, "adopt the feed of another server", func(tx *sql.Tx) error {
		if s.Shared() { // it goes through the whole feed, at a start
			if _, err := tx.ExecContext(ctx, `set local statement_timeout = 0`); err != nil {
				return err
			}
		}
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
