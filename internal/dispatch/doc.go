// Package dispatch decides which executions this server drives: it starts, recovers and releases their sessions.
//
// # Model
//
// A [Manager] holds the lease of its replica (leaseholder.go). Under that lease it gives an execution a session: at its creation
// (creation.go), or later if nobody drives it (acquire.go). What a server does all the time, to renew and to acquire, is in run.go. A
// session reports to the manager by [sessions.Dispatcher]: that it has recovered, that it has queued children, that it yields its place,
// that its execution is to be released, and that it has ended. The manager uses nothing else of it.
//
// A request of a person about an execution is a row that any replica writes (requests.go, clientcalls.go, generation.go). The driver is
// notified and reads the row. If nobody drives the execution, the replica that has written the row acquires it at once.
//
// # Room
//
// A server drives a bounded number of executions (queue.go). Executions beyond that wait in the database, for whichever replica has room;
// beyond a second bound they are refused. A session that waits only for its children leaves its place to them. A creation is answered within two seconds, also if the database hangs (late.go).
//
// # Deletion
//
// A deletion marks the execution, a root with all executions below it, and a goroutine of the manager removes the rows of marked executions, in portions (deletion.go). A
// [Sweeper] marks executions that have ended and whose time is over (retention.go).
//
// # Promises
//
//   - An execution that was acknowledged has a driver, waits for one, or has ended.
//   - Two sessions of one execution never run together: it is released only after its agent has returned, and a replica does not admit
//     an execution whose earlier session is still here.
//   - A drain returns after all sessions have ended, and then every execution is free for the others.
//
// # Lease
//
// Each replica has one row that it renews at a third of the time-to-live. It trusts the row only until the TTL minus
// a margin, counted from before the renewal was sent. A replica that cannot renew ends its sessions before another
// one may start them. On SQLite there is no other replica, and the lease lasts as long as the server.
package dispatch
