// Package dispatch decides which executions this server drives: it starts, recovers and releases their sessions.
//
// # Model
//
// A [Manager] holds the lease of its replica (leaseholder.go). Under that lease it gives an execution a session: at its creation (creation.go), or when
// nobody drives it any more (claims.go). What a server does all the time, renewing and claiming, is in run.go. A session tells the manager by [sessions.Dispatcher] that it has recovered, that its execution is to be
// released, and that it has left; the manager touches nothing else of it.
//
// What people want of an execution is a row that is written on whichever replica they ask (requests.go, clientcalls.go, generation.go). The driver is
// notified and reads the row. Where nobody drives the execution, the replica that has written the row claims it there and then.
//
// # Room
//
// A server drives so many executions and no more (queue.go). What is created beyond that waits in the database, for whichever replica has
// room; and beyond that it is refused. A creation is answered within two seconds, also where the database hangs (late.go).
//
// # Deletion
//
// An execution is deleted by a mark, and a goroutine of the manager removes the rows of those that are marked, in portions (deletion.go). A [Sweeper]
// marks what has ended and is not to be kept any longer (retention.go).
//
// # Promises
//
//   - An execution that was acknowledged has a driver, waits for one, or has ended.
//   - Two sessions of one execution never run together: it is released only after its agent has returned, and a replica does not admit
//     an execution whose earlier session is still here.
//   - A drain returns after all sessions have left, and then every execution is free for the others.
//
// # Lease
//
// Each replica has one row that it renews at a third of the time-to-live. It trusts the row only until the TTL minus
// a margin, counted from before the renewal was sent. A replica that cannot renew ends its sessions before another
// one may start them. On SQLite there is no other one, and the lease lasts as long as the server.
package dispatch
