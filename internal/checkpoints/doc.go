// Package checkpoints takes the checkpoints of executions, says who changed each path between two of them, and rolls an execution back to an earlier one.
//
// # Model
//
// The executions of one server share a [Service]: it has the repositories of package workspace/checkpoint, and the list of the calls that may write at this
// moment. Each execution that a session drives has a [Keeper]. Its goroutine owns the series of the execution, one for each folder that the execution may
// write. The session and the tools put requests into its queue, and the keeper serves one after the other:
//
//	BeginTurn      the first checkpoint of an execution, beside the first request to the model; before each turn of an external agent
//	BeforeCall     before a command or a call of an MCP server: others made every change that it finds
//	AfterCall      after it, beside the next request to the model
//	BeforeWrite    before a file tool writes: it looks only at the paths of the tool
//	AfterWrite     after the file tool has written
//	EndTurn        waits for the requests before it, so that the last checkpoint of a turn is in the log before the end of the turn
//	Preview        plans a rollback from a new checkpoint
//	Rollback       does the plan that a preview has shown
//
// The keeper does not report a checkpoint that equals the one before.
//
// # Who changed a path
//
// A change is one of the execution if a file tool wrote exactly the content that the checkpoint found, or if the path changed while a call of the execution
// ran and the service saw nobody else write in the folder. A change is uncertain if another execution could write in the folder meanwhile, if an external
// agent had its turn, or if it is in the first checkpoint after a restart. Others made every other change.
//
// # Promises
//
//   - With mode required, BeforeCall and BeforeWrite fail if they cannot take the checkpoint, and the call does not run.
//   - With mode bestEffort, a call waits for its checkpoint for ten seconds at most. An event reports a checkpoint that failed, or that came late.
//   - A rollback does what its preview has shown, or it changes nothing.
//   - The event of a checkpoint is in the log when BeforeCall returns.
//
// Several goroutines may call the methods of a Service and of a Keeper at once.
package checkpoints
