// Package store keeps executions, their logs, prompts and approvals, permission rules, memory, the audit, and the leases of replicas, in
// SQLite or in Postgres.
//
// # The model
//
// An execution has a row that clients see, a narrow head that every change updates, and a log of events numbered
// 1, 2, 3 …. The head hands out the numbers and knows the epoch, which grows each time that a replica acquires the
// execution. Both are settled by one update of one row, so fencing and numbering need no further lock, and the
// order of the log is the order of the commits.
//
// Others than the driver leave control requests for it: to cancel the execution, to close it, to resume it, and further prompts. [Store.ControlRequests] reads them at one moment, and the driver turns them into events.
//
// Two things wait for somebody outside, each in a row of its own. A client's call waits for one answer; a generation, blocks
// that an agent has handed in, is submitted until it is accepted, superseded or dropped. Answers and acceptances come from any
// replica and race with the driver, with each other and with the clock: the second one gets an error that names the first.
//
// The items of a long execution, its log as a conversation, are stored as far as clients have read them: a row for each item, and a fold that
// says which events are in the rows. They are a cache: [Store.SaveItems] moves them on, and nothing is lost with them.
//
// The feed is the logs of all executions of a tenant as one: a row for each change, in an order in which nothing that was read past
// can still turn up. [Store.Feed] says why.
//
// Rules are verdicts that stand: in one execution, or in all of a tenant. A decision leaves one behind in its own
// transaction, an operator writes one with [Store.CreateRule], and the change that acts by one counts a hit. Memory is
// notes under a revision: a writer must have read the newest.
//
// The audit is a chain of entries for each tenant, each with the hash of the one before it. Its end is a row of its own,
// by which entries are numbered as events are by the head. A change brings its entries along.
//
// An execution is deleted by a mark on its head ([Store.Delete]): from then on no read with a tenant finds it, and only its driver writes to
// it. Its rows are removed in portions ([Store.Remove]) once it has ended.
//
// All that sessions and approvals write goes through [Store.Commit]: a batch of [Change] values, each a transaction
// as a value, in one transaction of the database. Everything else reads, or is about leases and keys, or is what people
// do to rules, memory and ended executions: each of those brings one record for the audit.
//
// # Promises
//
//   - A change is in the database as a whole or not at all. A refused one leaves nothing, and does not disturb the
//     others of its batch.
//   - When Commit returns, its accepted changes survive the death of the process, and of the machine if its disk keeps what it has
//     acknowledged.
//   - The log of an execution has no hole and no double, also for a reader in the middle of a write.
//   - A change under an old epoch writes nothing, and neither does an agent that notes something under one. A change
//     with epoch 0 comes from others than the driver; the head counts it, so that a driver elsewhere sees that somebody wrote.
//   - An accepted prompt is started or discarded before its execution rests or ends.
//   - A client's call gets one answer, or none. One generation of an execution is submitted at most, and no queued
//     prompt changes an accepted one. With the execution, all waiting ends.
//   - An acceptance stands: no driver ends the execution without knowing of it.
//   - A repeated answer or acceptance gets the same success, even if it has ended the execution, and no event or record is written
//     twice.
//   - Once the status is terminal nothing is written any more: the terminal event is the last of its log.
//   - The audit has the records of all written changes, and of no refused one. Its entries are never
//     changed or removed, not even with their execution: the database refuses it, and the chain shows it where somebody
//     has got around that.
//   - Approvals, client's calls and rules expire, and leases end, by the clock of the database (now_us in SQL), never by a replica's.
//     By it, too, executions at a place are older or younger.
//   - Of several who save notes on the same revision one wins.
//   - Text is read back byte for byte, as far as it is UTF-8: what is not becomes U+FFFD on the way in, on both
//     engines, since Postgres cannot keep it.
//   - A tenant sees nothing of another: foreign rows are not found.
//
// # Two engines
//
// One text of SQL serves both. Where the engines differ is in [dialect], and nowhere else. SQLite has one writer, so
// it proves nothing about concurrency: the suite in storetest runs on both, always.
//
// What a commit costs is round trips on Postgres, so what an agent says is one statement there (see [Change.Plain]), and of other
// changes only those statements wait for their results whose results are needed (see pipeline); and planning, so lists are
// written such that one plan does for all sizes. On SQLite it is the reading of statements, so the writer keeps them.
//
// # Limits
//
// On Postgres the end of a tenant's audit is held from the last statements of a transaction to its commit, so audited
// changes of one tenant commit one after the other. What arrives meanwhile belongs into one batch.
//
// What entries are looked up by is in columns beside the hashed record; who verifies the chain compares the two. Where the
// head of a chain is gone and entries are left, nothing is appended, and so nothing of that tenant that is audited is
// written, until somebody has looked: a second chain over the first would hide that there had been one.
//
// The chain proves nothing against somebody who may write to the database and computes all hashes anew behind the place:
// who fears that keeps what [Store.AuditHead] says somewhere else, too.
//
// # Errors
//
// Errors are [*domain.Error]. CodeStorage means that the database did not do its work; the cause says why.
package store
