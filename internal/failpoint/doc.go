// Package failpoint names the moments at which a server may be killed, and kills it there, in a build for tests.
//
// # Model
//
// A crash does harm between two steps that belong together: a commit and the answer to it, or the start of a process and the event that
// reports it. Chance rarely hits such a gap, and never twice. So each gap has a [Name], before.EVENT or after.EVENT, and a call of [Hit].
// A test takes each name in turn: it starts a server that dies there, starts it again, and checks that every promise still holds.
//
// # Use
//
// Without the build tag failpoints, Hit is an empty function that the compiler inlines, and nothing can arm it. With the tag, cmd/server
// reads two variables of the environment:
//
//	SIGNOFF_TEST_FAILPOINT=name       the process kills itself when it reaches that name for the first time
//	SIGNOFF_TEST_FAILPOINT=name:3     for the third time
//	SIGNOFF_TEST_FAILPOINT_LOG=file   the process appends each name to the file when it reaches it for the first time
//
// The kill is SIGKILL: no deferred call runs and no buffer is written. It is like a power failure, except that the kernel keeps the data
// that it has. Only the server itself dies here. Supervisors of commands are other processes and are never armed.
//
// A new gap takes a line in names.go and a line in the gap. Each name stands in exactly one place, so that a test knows which gap it has
// tried; a test of the house checks that.
//
// # Limits
//
// A name says where a process died, and not what it had done before: every transaction of the server passes "after.store.commit", so its
// count differs from run to run. If several goroutines pass at once, the others continue until the kernel has killed them.
package failpoint
