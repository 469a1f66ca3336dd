// Package workspace opens and changes the files that executions may touch, and no others.
//
// A [Workspace] has one or several folders of the machine, its roots, by name. An execution works in a directory of one of them, or of a mount that its
// environment may write: [Workspace.Resolve] finds the directory when the execution is created, [Workspace.Holds] checks it each time a server drives it, and [Workspace.Open], [Workspace.List] and [Workspace.Change] work below it, by paths that a model wrote. Whoever gives
// files to an agent goes through them: the tools of the internal agent, and the file requests of external agents.
//
// # What holds
//
//   - No path leaves the working directory: not by "..", not by a link, and not while somebody swaps folders meanwhile ([os.Root]).
//   - Hidden files, the server's own data for one, are not there, under whatever name they are reached. Neither are the files of the kernel.
//   - A regular file with a second name is refused, since nobody knows what else it is.
//   - Guarded files can be read and not changed: programs outside of the sandbox take commands from them ([Guards]).
//   - A change of several files happens as a whole or not at all (change.go). A process that is killed in the middle leaves second names behind, which the
//     next reader removes (leftover.go).
//
// An error is a [domain.Error]: CodePathOutsideWorkspace, CodeToolFailed, CodeConflict where a file is not what the caller saw, or CodeInvalid.
//
// A Workspace may be used by many goroutines at once, after [Workspace.Guard].
package workspace
