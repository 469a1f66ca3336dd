// Package domain holds the nouns of Signoff and the rules that no other package may bend.
//
// # The nouns
//
// An [Execution] is the durable unit that a client creates, follows and cancels. It has one or more turns; a turn is
// one prompt until the agent stops, and ends with a [StopReason]. What answers the prompts is its [Source]: an
// external agent process that speaks ACP, or the internal agent, our own loop over a model.
//
// Everything that happens to an execution is an [Event] in its log, numbered 1, 2, 3 … without a hole. The log is the
// truth: the API shows nothing that cannot be rebuilt from the store. [Progress] is the state that a log amounts to, and [Progress.Apply]
// its one definition, for the session that writes the log and for the one that recovers it; [Transcript] is what was said.
//
// A [ToolCall] is one request of the agent to do something. It has exactly one [Outcome]. Where policy says that a
// person must look first, the call waits behind an [Approval], an open question; a [Decision] answers it.
//
// # Words
//
// docs/architecture.md has the glossary: each word means one thing, in all packages. Beside the nouns above:
//
//   - A session drives one execution on this replica. A replica holds a lease, and under it a claim with an epoch on each execution that it drives.
//   - To park is to release an execution that waits; to recover is to drive one on from its log; to drain is to release all of them before a stop.
//   - A notification tells a session or a replica to look at the log, and may be lost. A control request is a row by which a person asks the
//     driver to prompt, cancel, close or resume.
//   - A generation is a list of blocks for a document that waits for acceptance; a client tool is one that the caller of the API runs.
//
// # The states
//
//	queued → initializing → waiting → streaming ⇄ pendingToolApproval ⇄ executingTool → … → completed
//	                                                                        failed · cancelled · timedOut
//
// [Status.CanBecome] is the whole table. Terminal states never change, and entering one writes the one terminal event,
// the last of the log.
//
// # Two interfaces
//
// [Agent] answers prompts; [Host] is what a running session offers it. The packages that speak to models and to
// agent processes know these two and nothing of sessions, and the session knows nothing of models: so the state
// machine is tested with a scripted agent, and a provider without a database.
//
// This package imports the standard library only. Every other package may import it.
package domain
