// Package events is the log: all changes of executions are written through it, and all followers read from it.
//
// # Model
//
// Every execution has a log of events numbered 1, 2, 3 … A writer passes a [store.Change] to [Log.Commit] and waits until it is in the
// database. One committer takes all changes that were queued while the last commit ran:
// an idle server commits at once, and a busy one batches without a delay on purpose. On a shared database, plain changes
// ([store.Change.Plain]) have batches of their own: those take one round trip.
//
// A reader calls [Log.Follow] with the last seq that it has seen. A [Follower] reads history from the store and continues live without a
// gap: each followed execution keeps a short tail of frames, encoded once for all followers, so that a live follower costs no query. The
// first few events are kept for the first follower, too. A follower that falls behind the tail reads the store again, page by page. There
// is no queue per follower, so none can overflow.
//
// [Log.FollowAll] does the same for all executions of a tenant at once, in the order of [store.Store.Feed]. A
// [FeedFollower] has no tail: only the store knows the places of what several replicas write, so each notification costs it a
// query. If an open transaction holds events back, the follower asks again by itself, at first very soon.
//
// Replicas of one database notify each other. A log collects the names of the executions that it writes and sends them by
// [store.Store.Notify]: at once when it was idle, and at most once in ten milliseconds. The others receive them by
// [store.Store.Listen] and read the heads of executions that are followed or driven there. After each start of
// listening, a log reads all of its heads once.
//
// # Promises
//
//   - Durable before delivered: a frame is handed out only after its commit. Nobody sees an event that a crash could
//     take back.
//   - A follower sees every event after its cursor, in order, once. Live and replayed frames are the same bytes.
//   - The store is the truth; a notification only says "look". It may come for nothing, and a lost one costs latency, never
//     an event: on a shared database a log polls once a second, for each execution and tenant that is followed, not for each
//     follower. Without other replicas there are neither notifications nor polls.
//   - No commit waits for notifications, and the memory for unsent ones is bounded.
//   - A change is written whole or not at all. The error [store.ErrCommitUnknown] leaves that open; its writer must read the
//     log before it goes on.
//
// All methods of [Log] may be called at once. A [Follower], a [FeedFollower] and a [Watcher] belong to one goroutine each.
package events
