// Package paging reads the items of an execution page by page, at a cost that does not grow with its log.
//
// # Model
//
// Items are made of the log ([signoff/internal/events/items]), and any event may change an item that began long before. So the store keeps
// a fold of the beginning of the log: a row for each item, and how many events are in the rows. A page is read in three steps: the events
// behind the stored fold are folded in memory, the rows of items that those events change are read on the way, and what
// the page shows beyond that is read from the rows.
//
// Whoever meets more than a portion of events behind the fold stores the portion, and begins again with the next one. So somebody who reads
// an old execution of a million events for the first time waits while all of it is folded; the next reader does not. Nobody else
// stores anything: an execution below one portion, or one that nobody reads, has no rows and costs no write.
//
// # Promises
//
//   - A page is the one that a fold of the whole log would give, up to an event that is not before the last one when it was asked for.
//   - One attempt reads at most [PortionEvents] events and the rows of one page, and holds about [PortionBytes] in memory: more only
//     where a single event, with what it changes, is larger.
//   - Every portion is a transaction of its own. A reader that goes away leaves all that it has stored.
//   - Two readers, also of two replicas, may store at once: the fold moves on by compare-and-set on its position. The one that comes too late
//     begins again behind it.
//   - No transaction is open while rows are read. A fold that is the same before and after has not changed in between, and its rows
//     have not, either; where it has moved on, the page is read anew.
//   - Rows that another version of the reducer has stored are not used: newer code makes them anew, and older code, as there is
//     while servers are replaced, folds the whole log as if there were none.
//
// # Use
//
//	pages := paging.New(store)
//	page, err := pages.Read(ctx, execution, 100, 50)  // the items 100 to 149
//
// A [Pages] may be used by several goroutines at once. Of those that read at the same time a few have a place at a time; they give it
// up after each portion.
package paging
