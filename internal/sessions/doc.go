// Package sessions drives executions: a goroutine each, from queued to the terminal event.
//
// # Model
//
// Each execution that this server drives has a [Session]. Its goroutine alone touches it and all that belongs to it. The agent runs in a
// goroutine of its own and speaks to the session through an inbox; people speak through rows in the store, and a notification. What all
// sessions of a server share is the [Engine]. Which executions get a session is decided by a [Dispatcher], which is package dispatch.
//
// The session itself is the state machine. Everything that it knows has an owner. An owner does not know the session, and knows of the
// others only those that stand before it. All have the core (core.go): the engine, the execution, the claim and the progress.
//
//   - the recorder (recorder.go, commit.go) writes the log, and knows what the log implies; a change set (changeset.go) is what one commit writes
//   - the budget (budget.go, length.go) bounds what the execution uses up
//   - the open calls (opencalls.go, call.go) are the tool calls without an outcome; the status of a turn follows from them (status.go)
//   - the texts (texts.go) are messages, thoughts and outputs that grow
//   - the control (control.go) reads what others want of the execution
//   - the rules (rules.go) judge a call, and the client calls (clientcalls.go) are those that the client runs
//   - the delegates (delegates.go, delegatecalls.go) are the children of the execution; the reports of a child to its parent are in report.go
//   - the permissions (permissions.go, decisions.go, newrules.go, withdrawals.go, unknownoutcome.go, inquiries.go) decide whether a call may run
//   - the blocks (blocks.go) are those that the agent hands in
//   - the agent (agent.go) is opened, prompted and closed here; host.go is what it is offered
//   - the translator (translator.go) turns what the agent says into events
//   - parking (parking.go) and recovery (recovery.go) tell whether an execution can be parked, and whether its log can be continued
//
// How a turn stops is one value, its stage (turnrun.go).
//
// What the log implies of an execution is its [domain.Progress]. The session changes that only by emitting events (changeset.go): an event is
// masked, dated and encoded, and then applied as the log will hold it. A session that recovers an execution applies the log, and reads the
// rows beside it: control requests, the client's answers, the document, the approvals (recovery.go). So a session knows of itself exactly
// as much as the next one will know of it.
//
// The session takes the inbox, turns it into one [store.Change], commits it, and only then answers the agents that wait. While the
// commit runs the inbox goes on filling, and consecutive deltas of one message become one event: so a slow database makes events larger,
// not later.
//
// # States
//
// Each state is a method that returns the next one (states.go, turns.go, end.go, park.go, recover.go). While a turn runs its status follows
// from what is open: an approval, a running call, a message that streams. [changeSet.to] is the only place where the status of a live
// execution changes, and [Session.terminal] the only one that ends it; both hold the table of [domain.Status.CanBecome].
//
// A session ends if a change is refused, or if nobody knows whether it was written: its progress is ahead of the log. Only the changes that
// end a turn or an execution may be refused, because somebody was faster. They are made on top of a copy of the progress; after a refusal
// the session looks again.
//
// # Turns
//
// A turn is one prompt until the agent stops (turns.go). Further prompts are rows, like the control requests: to cancel, to close, and how an
// interrupted execution is to continue. The session reads them after a notification. Between two turns it is idle, with or without an open
// agent; an idle execution that is recovered opens none before the next prompt.
//
// An external agent keeps a history of its own and runs its calls itself. It asks a person through [domain.Host.Ask], and may withdraw its
// question. After a crash its turn continues only if no call was running: otherwise the execution is interrupted, and a person chooses. So
// it is if the provider of our own agent's model is away for too long, or wants another key (interruption.go).
//
// # Others who answer
//
// A call may be run by the client (clientcalls.go). It is judged like any other; then it waits for one answer, as a row, also over restarts.
// The MCP server of a call may ask a person before it answers (inquiries.go): then the call is paused, and the answer starts it again, or the call
// runs on, and the question lives as long as the process that asks.
//
// The call by which an agent hands in blocks (blocks.go) stays open after its turn: their acceptance is its outcome, and the next turn
// begins with that. Of several executions that generate blocks for one place the newest stays. If the final answer does not fit the
// schema of the request, the session asks for it again, in a turn of its own (answer.go).
//
// # Children
//
// A call that delegates creates an execution, in the transaction that writes its start. The child has a session, a log and an agent of its own,
// perhaps on another replica. Its driver writes its result to its row when it rests, and wakes the parent in the same transaction
// (report.go). The parent takes each result once: with the outcome of the call that waits for it, or, if its turn has ended
// meanwhile, as the prompt of one further turn. Between the two it is idle, and neither its idle timeout nor the clock of a turn runs.
//
// Parent and children work in one folder. None of them changes a file whose present content it has not viewed (viewedfiles.go, treelocks.go).
//
// While an execution only waits for its children or its parent, its place is free for others, see [Dispatcher]. Approvals of a child are its own, and are
// reported to parent and root. The end of a parent ends its children in the same transaction: it cancels the live ones and closes the others.
//
// # Waiting
//
// An execution that waits for somebody, or for the time of a repeated request to its model, is parked after a while (park.go): the session
// ends with its agent, and leaves a row with the time at which the execution wakes. Whoever writes to the execution wakes it at once, on
// the replica that writes. If a replica dies, an execution that only waits is parked again as soon as it is acquired, without an agent. So
// a start after a crash costs one reading of each log, some at a time, and executions that somebody has just answered go first.
//
// The other executions of a dead replica rest before they are recovered, the longer the more recoveries were without progress
// (recovery.go). So an execution that takes its server down does not take the others with it each time.
//
// A server runs a bounded number of commands at once (commands.go): a command waits for a slot before its start is written.
//
// # Promises
//
//   - Every execution ends in exactly one terminal event, or is live under a valid lease, or waits for a driver.
//   - A tool call has exactly one outcome, and at most one start for each approval. `toolCall.started` is in the database before the
//     call runs; a call that may have run when its driver died is outcomeUnknown, and runs again only after a new approval.
//   - Nothing is written under an old epoch: every change has the epoch, and a refused change ends the session at
//     once, without a further write.
//   - A prompt that was acknowledged has its turn, or the log says that it was discarded.
//   - A drain ends no turn as failed: what is in the log stays, and the next server goes on from it.
//
// An execution is released only after its agent has returned, so the tools of two drivers never run together.
package sessions
