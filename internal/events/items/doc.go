// Package items turns the log of an execution into a conversation: a list of messages, thoughts, tool calls and changes.
//
// # Model
//
// A [Reducer] takes the events of one log, one after the other, and keeps the list of [Item]. There is one item for each
// message, each run of reasoning, each tool call, each file that a call wants to change, and each generation of blocks.
// An event makes an item or changes one; no item ever goes away or moves. The list is in the order in which the items
// began.
//
// Events change items that began long before, so the end of a log alone makes no items. To go on in the middle of one, a reducer hands out
// what is to be stored ([Reducer.Stored]), a row for each item, and another one goes on from there ([Resume]) with the rows that the next
// events need ([Reducer.Keys], [Reducer.Restore]). Package paging does so with a store.
//
// The reducer is pure: it reads no clock and no database, and asks nobody. So it does not matter who runs it, nor when: a page
// that is loaded after the end shows what a follower saw who was there from the beginning.
//
// # Promises
//
//   - The same events make the same items, in whatever portions they come, and however often.
//   - They make the same items wherever a reducer is stored and resumed. Whoever changes what items are made of the same events, or how they
//     are stored, raises [Version].
//   - An event is recognised by its seq, and an item by its id. Ids are made of the ids in the log, never of what was
//     said: two messages with the same words are two messages. (Frontends that compared texts showed one twice, or swallowed
//     the second "OK".)
//   - What does not fit is an error and changes nothing: a hole in seq, or a piece of text that is not at the end of what is
//     there. Types of events that are not known are passed over.
//   - A text of an item is at most [TextBytes] long, and says where it was cut. What the log holds beyond it stays in the log.
//   - What Items and Changed return is a copy: it does not change any more.
//   - What a model or an agent writes is hostile: arguments and reports that cannot be read make no diff, and never an error. A
//     diff takes bounded time.
//
// # Limits
//
// A diff shows what a call asks for, in the lines that the call names; nobody looked into the file. So the lines of an edit are
// numbered from 1, a whole file that is written counts as added, and a place that is changed often is shown once. It is for
// reading, not for a program that applies patches.
//
// A prompt that waits for its turn is no item yet. The conversations that a request took over from other executions are
// theirs.
//
// # Use
//
//	all, err := items.Reduce(execution.Request, log)
//
//	reducer := items.New(execution.Request)
//	err := reducer.Take(event)  // of [signoff/internal/store] or of a follower
//	changed := reducer.Changed()
//	reducer.LastSeq()           // from where to follow on
package items
