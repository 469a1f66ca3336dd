// Package paging reads the items of an execution page by page, at a cost that does not grow with its log.
//
// # Model
//
// Items are made of the log ([signoff/internal/events/items]), and any event may change an item that began long before. So the store keeps
// a fold of the beginning of the log: a row for each item, and how many events are in the rows. A page is read in three steps: the events
// behind the stored fold are folded in memory, the rows that these events change are read on the way, and the rest of the page is read from
// the rows.
//
// A reader that finds more than a portion of events behind the fold stores the portion and starts again with the next one. So the first
// reader of an old execution with a million events waits while all of it is folded; the next reader does not. Nothing else stores rows: an
// execution below one portion, or one that is never read, has no rows and costs no write.
//
// # Promises
//
//   - A page is the same as that of a fold of the whole log, up to an event at or behind the last one at the time of the request.
//   - One attempt reads at most [PortionEvents] events and the rows of one page, and uses about [PortionBytes] of memory; more only if a single
//     event, with the items that it changes, is larger.
//   - Every portion is a transaction of its own. The progress of a reader that disconnects is kept.
//   - Two readers, also of two replicas, may store at once: the fold advances by compare-and-set on its position. The later one starts again
//     behind the other's portion.
//   - No transaction is open while rows are read. If the fold is the same before and after, so are its rows; otherwise the page is read again.
//   - Rows of another version of the reducer are not used: newer code replaces them, and older code, which runs during an upgrade, folds the
//     whole log as if there were none.
//
// # Use
//
//	pages := paging.New(store)
//	page, err := pages.Read(ctx, execution, 100, 50)  // the items 100 to 149
//
// Several goroutines may use a [Pages] at once. A few of them read at a time, and take turns after each portion.
package paging
