// Package items turns the log of an execution into a conversation: a list of messages, thoughts, tool calls and changes.
//
// # Model
//
// A [Reducer] takes the events of one log in order and keeps the list of [Item]. There is one item for each message, each run of reasoning,
// each tool call, each file that a call wants to change, each generation of blocks, and each rollback; and one for the changes of a turn of an external agent
// on disk. The changes of a call on disk belong to the item of the call. An event adds an item or changes one; items are
// never removed or moved. The list is in the order in which the items began.
//
// Events change items that began long before, so the end of a log alone is not enough to make items. To continue in the middle of a log, a
// reducer returns rows to store, one for each item ([Reducer.Stored]). Another reducer continues from there ([Resume]) with the rows
// that the next events need ([Reducer.Keys], [Reducer.Restore]). Package paging does that with a store.
//
// The reducer is pure: it reads no clock and no database. So a page that is loaded after the end shows the same as a follower saw live.
//
// # Promises
//
//   - The same events make the same items, in portions of any size, and however often.
//   - They make the same items wherever a reducer is stored and resumed. A change to the items of the same events, or to the stored form, must
//     raise [Version].
//   - The seq identifies an event, and the id an item. Ids are made of ids in the log, never of texts: two messages with the same words are two
//     messages. (Frontends that compared texts showed one twice, or dropped the second "OK".)
//   - An event that does not fit is an error and changes nothing: a hole in seq, or a piece of text that does not begin at the end of the text
//     before it. Unknown types of events are ignored.
//   - A text of an item has at most [TextBytes] bytes, and says whether it was cut. The log has the rest.
//   - Items and Changed return copies, which do not change any more.
//   - The output of a model or an agent is hostile: arguments and reports that cannot be read make no diff, and never an error. A diff takes
//     bounded time.
//
// # Limits
//
// A diff shows the requested change, not the one that a checkpoint has found, in the lines that the call names; the file was not read. So the lines of an edit are numbered from 1, a
// whole file that is written counts as added, and a change in several places is shown once. The diff is for reading, not for a program that
// applies patches.
//
// A queued prompt is no item yet. Conversations of earlier executions in a request are no items.
//
// # Use
//
//	all, err := items.Reduce(execution.Request, log)
//
//	reducer := items.New(execution.Request)
//	err := reducer.Take(event)  // of [signoff/internal/store] or of a follower
//	changed := reducer.Changed()
//	reducer.LastSeq()           // follow the log from here
package items
