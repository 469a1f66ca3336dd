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
// Two things wait for a client, each in a row of its own. A client's call waits for one answer; a generation, the blocks of an agent, is submitted
// until it is accepted, superseded or cancelled. Answers and acceptances come from any replica and race with the driver, with each other and with
// the clock: the second one gets an error that names the first.
//
// The items of a long execution, its log as a conversation, are stored as far as clients have read them: a row for each item, and a fold that
// says which events are in the rows. They are a cache that [Store.SaveItems] extends, and that can be rebuilt from the log.
//
// The feed joins the logs of all executions of a tenant: a row for each change, in an order in which no change appears behind a reader.
// [Store.Feed] says why.
//
// Rules are verdicts that stay valid: in one execution, or in all of a tenant. A decision creates one in its own transaction, an operator writes
// one with [Store.CreateRule], and the change that applies one counts a hit. Memory is notes under a revision: a writer must have read the newest.
//
// The audit is a chain of entries for each tenant, each with the hash of the one before it. Its end is a row of its own, which numbers the entries
// as a head numbers events. A change contains its entries.
//
// For the shared files of a tree, each execution has the hashes of the contents that it has viewed ([Store.ViewedFiles]).
//
// Executions form trees: a driver creates children of its execution, and reads their results ([Store.Children]). A tree has one root. It is kept as long as
// the root and deleted with it, and the head of the root is locked while a child is created.
//
// An execution is deleted by a mark on its head ([Store.Delete]): from then on no read with a tenant finds it, and only its driver writes to
// it. Its rows are removed in portions ([Store.Remove]) once it has ended.
//
// Sessions and approvals write through [Store.Commit] alone: a batch of [Change] values, each a transaction as a value, in one transaction of the
// database. A change may have linked changes of other executions, which are written with it or not at all. All other methods read, or manage leases and keys, or change rules, memory and ended executions for people, each with one audit
// record.
//
// # Promises
//
//   - A change is in the database as a whole or not at all. A refused one leaves nothing, and does not disturb the
//     others of its batch.
//   - When Commit returns, its accepted changes survive the death of the process, and of the machine if its disk keeps what it has
//     acknowledged.
//   - The log of an execution has no hole and no double, also for a reader in the middle of a write.
//   - A change under an old epoch writes nothing, and so does a note of an agent. A change with epoch 0 comes from others than the driver; the head
//     counts it, so that a driver elsewhere sees the write.
//   - An accepted prompt is started or discarded before its execution rests or ends.
//   - A client's call gets one answer, or none. One generation of an execution is submitted at most, and no queued
//     prompt changes an accepted one. When the execution ends, nothing waits any more.
//   - An acceptance stands: no driver ends the execution without knowing of it.
//   - A repeated answer or acceptance gets the same success, even if it has ended the execution, and no event or record is written
//     twice.
//   - No child is created below a root that has ended or is deleted, a root is deleted only with its children, and no tree has more than
//     domain.MaxTree of them.
//   - Once the status is terminal nothing is written any more: the terminal event is the last of its log.
//   - The audit has the records of all written changes, and of no refused one. Its entries are never
//     changed or removed, not even with their execution: the database refuses it, and the chain shows it if somebody circumvents that.
//   - Approvals, client's calls and rules expire, leases end, and executions at a place are older or younger, by the clock of the database (now_us in
//     SQL), never by a replica's.
//   - Of several writers of notes on the same revision one wins.
//   - Text is read back byte for byte if it is UTF-8. Other bytes become U+FFFD when they are written, on both engines, because Postgres cannot
//     keep them.
//   - A tenant sees nothing of another: foreign rows are not found.
//
// # Two engines
//
// One SQL text serves both. Their differences are in [dialect] alone. SQLite has one writer, so it proves nothing about concurrency: the suite in
// storetest always runs on both.
//
// On Postgres, round trips and planning are the cost of a commit. So the text of an agent is one statement (see [Change.Plain]), the statements of
// other changes wait for their results only if somebody needs them (see pipeline), and one plan serves lists of all sizes. On SQLite, parsing
// statements is the cost, so the writer keeps them prepared.
//
// # Limits
//
// On Postgres the end of a tenant's audit is locked from the last statements of a transaction to its commit, so audited changes of one tenant commit
// one after the other. The log puts changes that arrive meanwhile into one batch.
//
// Searches use columns beside the hashed record; the verification of the chain compares the two. If the head of a chain is gone and entries are
// left, no audited change of that tenant is written until a person has looked: a second chain over the first would hide that there had been one.
//
// The chain proves nothing against an attacker who can write to the database and recomputes all later hashes. Against that, keep the result of
// [Store.AuditHead] somewhere else, too.
//
// # Errors
//
// Errors are [*domain.Error]. CodeStorage means that the database failed; the cause says why.
package store
