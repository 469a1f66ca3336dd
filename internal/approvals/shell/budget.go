package shell

import "context"

// maxWork is how much work one line may take: every byte and every node of syntax that a reading handles counts one. An
// ordinary line takes some ten times its bytes; the longest line that may be judged has 64 KiB.
const maxWork = 1 << 20

// perReading is the work of a reading besides its bytes: a parser has buffers of its own.
const perReading = 100

// checkEvery is how much work is done between two looks at the context.
const checkEvery = 16 << 10

// budget counts the work of one line, over all its readings. Once it is used up, or its context has ended, nothing more is
// read, and a person must look.
type budget struct {
	ctx   context.Context
	limit int
	spent int
	over  bool

	guesses     map[guess]Script
	assignments int // so far: what a variable holds may change what a guess is
}

// guess is a text that may be a script. The same one stands in every word around it, so sixty nested substitutions would
// be read more often than a machine can: each is read once, and remembered.
type guess struct {
	source, folder     string
	depth, assignments int
}

// spend counts work before it is done, and reports whether it may be done.
func (b *budget) spend(work int) bool {
	if b.over {
		return false
	}
	if b.over = work > b.limit-b.spent; b.over {
		return false
	}
	before := b.spent / checkEvery
	b.spent += work
	if b.spent/checkEvery != before || b.spent == work {
		b.over = b.ctx.Err() != nil
	}
	return !b.over
}
