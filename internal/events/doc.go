// Package events is the log: the one gate through which executions are written, and the one road on which they are
// followed.
//
// # Model
//
// Every execution has a log of events numbered 1, 2, 3 … Whoever writes hands a [store.Change] to [Log.Commit] and
// waits until it is in the database. One committer takes whatever all sessions have queued while the last commit ran:
// an idle server commits at once, a busy one batches by itself, and nobody waits on purpose. On a shared database, plain changes
// ([store.Change.Plain]) have batches of their own: those take one round trip.
//
// Whoever reads calls [Log.Follow] with the last seq that it has seen. A [Follower] reads history from the store and
// goes on live with no seam: each followed execution keeps a short tail of frames, encoded once for all followers, so
// that a live follower costs no query. The first few events are kept for the first follower, too. Who falls behind the
// tail reads the store again, page by page. There is no queue per follower, so none can overflow.
//
// [Log.FollowAll] does the same for all executions of a tenant at once, in the order of [store.Store.Feed]. A
// [FeedFollower] has no tail: only the store knows the places of what several replicas write, so each ring costs it a
// query, and where an open transaction holds something back it asks again by itself, at first very soon.
//
// Replicas of one database ring for each other. A log notes where it has written and tells it by [store.Store.Notify], at
// once when it was idle, and at most once in ten milliseconds; another one hears it by [store.Store.Listen] and reads the
// heads of those executions that somebody follows or drives there. Who has begun to listen, or to listen again, looks at
// everything once.
//
// # Promises
//
//   - Durable before delivered: a frame is handed out only after its commit. Nobody sees an event that a crash could
//     take back.
//   - A follower sees every event after its cursor, in order, once. Live and replayed frames are the same bytes.
//   - The truth is in the store; a wake-up is only a bell. A bell may ring for nothing, and a lost one costs latency,
//     never an event: on a database that other replicas write to, a poll of one second stands behind it, once for each
//     execution and tenant that is followed, not for each follower. Without other replicas nobody polls or rings.
//   - Whatever becomes of the bells between replicas, no commit waits for them, and what is kept for them is bounded.
//   - A change is whole or not there. An error that leaves that open says so ([store.ErrUnknownOutcome]); its writer
//     must read the log before it goes on.
//
// All methods of [Log] may be called at once. A [Follower], a [FeedFollower] and a [Watcher] belong to one goroutine each.
package events
