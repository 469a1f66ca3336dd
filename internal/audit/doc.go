// Package audit says what is put on record of what agents do and people decide, and checks that the record is whole.
//
// # Model
//
// Each tenant has one chain of entries. An entry is a [domain.AuditRecord] with a number, a time and the hash of the
// entry before it. The store appends records in the very transaction that does what they tell of: what happened is on
// record, and what is on record happened. Nothing changes or removes an entry, and a trigger of the database refuses to.
//
// # Promises
//
//   - Every tool call has one entry with its fate, who or which rule decided, and by what channel.
//   - Entries outlive their executions. They hold no output and no message, only a short summary; values of secrets are
//     masked before they come here.
//   - [Verify] finds an entry that was changed, moved, removed or put in between, columns that say something else than their
//     record, and a head that is missing. Who rewrites a whole chain from some
//     entry on leaves it consistent: against that, keep the head somewhere else, and verify against it.
package audit
