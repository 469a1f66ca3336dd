// Package audit makes the records of agents' work and people's decisions, and verifies that their chain is complete.
//
// # Model
//
// Each tenant has one chain of entries. An entry is a [domain.AuditRecord] with a number, a time and the hash of the
// entry before it. The store appends a record in the transaction of the recorded act: every act has its record, and
// every record its act. Nothing changes or removes an entry, and a trigger of the database refuses to.
//
// # Promises
//
//   - Every tool call has one entry with its outcome, who or which rule decided, and by what channel.
//   - Entries outlive their executions. They hold no output and no message, only a short summary; values of secrets are
//     masked before they come here.
//   - [Verify] finds an entry that was changed, moved, removed or inserted, columns that contradict their record, and a missing head. An
//     attacker who rewrites the chain from some entry on leaves it consistent: to detect that, keep the head elsewhere and verify against it.
package audit
