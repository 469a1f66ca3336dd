// Package early has the stages of a command begin before the rest of the binary is set up.
//
// # The model
//
// A command is started through three stages, each of which is this whole binary again: see package sandbox. Before main is
// called, Go sets up every package that is linked in, and that is some eight milliseconds of clients of models, databases
// and schemas which no stage has any use for, three times between somebody's approval and the first line of what they
// have approved. Go sets up a package as soon as all that it imports is, in the order of their names. So a package that
// imports little has its turn long before those, and what is started as a stage never comes back from it.
//
// # Promises
//
//   - In a process that was not started as a stage, nothing happens.
//   - Neither this package nor package sandbox imports what takes long: a test holds the list.
//
// # Use
//
// A main package imports it for its effect. Test binaries call [sandbox.Intercept] themselves, in TestMain.
package early

import "signoff/internal/sandbox"

func init() { sandbox.Intercept() }
