// Package settings reads what an agent offers to choose from, and says which of a request's choices count.
//
// An agent offers modes, models and other options, in three ways that the protocol has had. [Settings] reads all three and is the
// state of one session: what is offered, and what is chosen. A [Selection] is the value that the registry, a request or
// a prompt selects for one option; [Settings.Effective] says which of them count, and in which order they are set. Whether an agent may have
// a value is not judged here.
//
// A Settings belongs to one goroutine, or to whoever holds the lock of its owner.
package settings
