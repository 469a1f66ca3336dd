// Package inside gives the file tools exactly the files that a command of the same execution sees.
//
// # Model
//
// In an environment that shows more than the workspace, what can be seen is decided by mounts and by the user that commands run as. A second
// implementation of that in the server would differ from it. So the files are opened inside: [Serve] runs in a process of the sandbox, and a
// [Client] in the server speaks to it over the process's standard streams.
//
//	tool ──▶ [Client] ──request──▶ stdin  │ sandbox │  [Serve] ──▶ the files
//	     ◀──         ◀──response── stdout │         │
//
// Requests and responses are values of encoding/gob, one request at a time. A change asks back before each file whether it still may happen: the
// server knows whether the turn and the lease are still there.
//
// # Promises
//
//   - Nothing is opened but what the process can open; links are followed as a command follows them.
//   - Regular files and folders only. The kernel's file systems are refused: reading them could block, or tell of the sandbox itself.
//   - A change is that of package workspace: all of it or none, and never of a guarded file.
//   - A response over its bound, or one that does not come before the context ends, ends the process.
package inside
