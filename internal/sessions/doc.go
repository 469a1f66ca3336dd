// Package sessions drives executions: a goroutine each, from queued to the terminal event.
//
// # Model
//
// Each execution that this server drives has a [Session]. Its goroutine alone owns its fields. The agent runs in a goroutine of its own
// and speaks to the session through an inbox; people speak through rows in the store, and a bell. What all sessions of a server share is
// the [Engine]. Which executions get a session is decided by a [Dispatcher], which is package dispatch.
//
// The fields of a session are grouped by what they are about: the claim, the progress and its clock, the turn that runs, the agent, and the
// control of others. How a turn stops is one value, its stage (turnrun.go).
//
// What the log implies of an execution is its [domain.Progress]. The session changes that only by emitting events (changeset.go): an event is
// masked, dated and encoded, and then applied as the log will hold it. A session that recovers an execution applies the log, and reads the
// rows beside it: what people want, what the client answered, the document, the approvals (takeup.go). So what a session knows of itself
// is what the next one will know of it.
//
// The session takes what is in the inbox, turns it into one [store.Change], commits it, and only then answers whoever
// waits. While the commit runs the inbox goes on filling, and consecutive deltas of one message become one event: so
// a slow database makes events larger, not later.
//
// # States
//
// One method per state (states.go, turns.go), each returns the next. While a turn runs the status is derived from what is open:
// an approval, a running call, a message that streams. [Session.to] is the only place where the status of a live
// execution changes, and [Session.terminal] the only one that ends it; both hold the table of [domain.Status.CanBecome].
//
// A change that is refused, or whose outcome nobody knows, ends the session: its progress is ahead of the log. Only the ends of turns and
// executions may meet somebody who was faster. They are made on top of a copy, and when they are refused the session looks again.
//
// # Turns
//
// A turn is one prompt until the agent stops (turns.go). Further prompts are rows that people leave, like the wish to
// cancel, to close, or how an interrupted execution is to go on: the session reads them when the bell rings.
// Between two turns it is idle. It then holds its agent, if that is there; one that is taken up while idle opens none
// before a prompt comes.
//
// An external agent keeps a history of its own and runs its calls itself. It asks a person through [domain.Host.Ask],
// may take its question back, and after a crash it goes on only where no call was running: otherwise the execution is
// interrupted, and somebody chooses. So does our own agent where the provider of its model is away for too long, or wants another
// key (interruption.go).
//
// # Others who answer
//
// A call may be run by the client (calls.go). It is judged like any other; then it waits, as a row, for the one answer, over
// restarts too. The call by which an agent hands in blocks (generation.go) stays open over the end of its turn: what came of the
// blocks is its result, and the next turn begins with it. Of several executions that generate blocks for one place the newest stays.
// An answer that does not fit the schema that was asked for is asked for again, in a turn of its own (answer.go).
//
// # Waiting
//
// What waits for somebody, or for the time at which a request to its model is repeated, holds nothing for long (park.go): after a while the session lets its agent go and leaves a row behind, with the
// time at which it wakes by itself. Whoever writes to it wakes it at once, on the replica where they do, since that claims it there and
// then. What a dead replica was waiting for is parked as soon as it is claimed, without an agent; so a start after a crash
// costs a reading of each log, some at a time, and what somebody has just answered goes first.
//
// What a dead replica drove rests before it is recovered, the longer the more recoveries have come to nothing (recovery.go): so one that takes its
// server down does not take the others with it each time.
//
// A server runs so many commands at once and no more (commands.go): one that may run waits for a slot before its start is written.
//
// # Promises
//
//   - Every execution ends in exactly one terminal event, or is live under a valid lease, or waits for a driver.
//   - A tool call has exactly one outcome. `toolCall.started` is in the database before the call runs; a call that may
//     have run when its driver died is outcomeUnknown and never runs again by itself.
//   - Nothing is written under an old epoch: every change carries the epoch, and a refused one ends the session at
//     once, without a further write.
//   - A prompt that was acknowledged has its turn, or the log says that it was discarded.
//   - A drain ends no turn as failed: what is in the log stays, and the next server goes on from it.
//
// An execution is given back only after its agent has returned, so the tools of two drivers never run together.
package sessions
