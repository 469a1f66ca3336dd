// Package sessions drives executions: a goroutine each, from queued to the terminal event.
//
// # Model
//
// Each execution that this server drives has a [Session]. Its goroutine alone touches it and all that belongs to it. The agent runs in a
// goroutine of its own and speaks to the session through an inbox; people speak through rows in the store, and a notification. What all
// sessions of a server share is the [Engine]. Which executions get a session is decided by a [Dispatcher], which is package dispatch.
//
// The session itself is the state machine. Everything that it knows has an owner. An owner does not know the session, and knows of the
// others only those that stand before it:
//
//   - the recorder (recorder.go, commit.go) writes the log, and knows what the log implies; a change set (changeset.go) is what one commit writes
//   - the budget (budget.go, length.go) bounds what the execution uses up
//   - the open calls (opencalls.go, call.go) are the tool calls without an outcome; the status of a turn follows from them (status.go)
//   - the texts (texts.go) are messages, thoughts and outputs that grow
//   - the control (control.go) reads what others want of the execution
//   - the rules (rules.go) judge a call, and the client calls (clientcalls.go) are those that the client runs
//   - the permissions (permissions.go, decisions.go, newrules.go, withdrawals.go, unknownoutcome.go) decide whether a call may run
//   - the blocks (blocks.go) are those that the agent hands in
//   - the agent (agent.go) is opened, prompted and closed here; host.go is what it is offered
//   - the translator (translator.go) turns what the agent says into events
//   - parking (parking.go) and recovery (recovery.go) tell whether an execution can be parked, and whether it can go on from its log
//
// How a turn stops is one value, its stage (turnrun.go).
//
// What the log implies of an execution is its [domain.Progress]. The session changes that only by emitting events (changeset.go): an event is
// masked, dated and encoded, and then applied as the log will hold it. A session that recovers an execution applies the log, and reads the
// rows beside it: what people want, what the client answered, the document, the approvals (recovery.go). So what a session knows of itself
// is what the next one will know of it.
//
// The session takes what is in the inbox, turns it into one [store.Change], commits it, and only then answers whoever
// waits. While the commit runs the inbox goes on filling, and consecutive deltas of one message become one event: so
// a slow database makes events larger, not later.
//
// # States
//
// One method per state (states.go, turns.go), each returns the next. While a turn runs the status is derived from what is open:
// an approval, a running call, a message that streams. [changeSet.to] is the only place where the status of a live
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
// A call may be run by the client (clientcalls.go). It is judged like any other; then it waits, as a row, for the one answer, over
// restarts too. The call by which an agent hands in blocks (blocks.go) stays open over the end of its turn: what came of the
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
