// Package failpoint names the moments at which a server may be killed, and kills it there, in a build for tests.
//
// # Model
//
// A crash does harm between two things that belong together: a commit and the answer to it, a process and the line that
// tells of it. Chance rarely hits such a gap, and never twice. So each gap has a [Name] and a call of [Hit] in it, and a
// test walks through all names: it starts a server that dies at that moment, starts it again, and looks whether every
// promise still holds.
//
// # Use
//
// Without the build tag failpoints, Hit is an empty function that is inlined: no instruction is left of it in the binary,
// and nothing can arm it. With the tag, cmd/server reads two variables of the environment:
//
//	SIGNOFF_TEST_FAILPOINT=name       the first time that name is reached, the process kills itself
//	SIGNOFF_TEST_FAILPOINT=name:3     the third time
//	SIGNOFF_TEST_FAILPOINT_LOG=file   each name is appended to the file when this process reaches it first
//
// The kill is SIGKILL: no deferred call runs, no buffer is written, as when the machine loses its power, but for what the
// kernel holds. Only the server itself can die here. Supervisors of commands are other processes and are never armed.
//
// A new gap takes a line in names.go and a line where it is: each name stands in exactly one place, so that a test knows
// what it has tried. A rule of the house keeps that.
//
// # Limits
//
// A name says where a process died, and not what it had done before: "store.committed" is passed by every transaction of
// the server, so its count differs from run to run. Where several goroutines pass at once, the others go on for the
// moment that the kernel takes.
package failpoint
