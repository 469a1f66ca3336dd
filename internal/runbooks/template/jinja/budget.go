package jinja

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of one [Budget].
const (
	MaxFuel   = 10_000_000 // steps, each some ten nanoseconds
	MaxMemory = 128 << 20  // bytes that are allocated, whether they are still in use or not
)

const (
	maxDepth   = 200     // levels of lists and maps in a value; macros and recursive loops that call each other
	maxRange   = 100_000 // what a template makes out of one number
	listSize   = 32      // of a list, beside its items
	slotSize   = 16      // of an item in a list
	textSize   = 16      // of a text or a number in a list, beside its bytes
	callSize   = 128     // of a use of an operation
	dictSize   = 128
	numberSize = 64      // of a whole number of any size
	checked    = 8192    // steps between two looks at the context
	borrowed   = 1 << 20 // memory is borrowed in pieces of this size; the first piece is free
	perSource  = 96      // the most that the parser allocates for one byte of a template
	tooMuch    = "this uses too much memory or time"
)

// Budget is the work that a few templates may do together. Every step is charged before it is done and every allocation
// before it is made, so a template ends by itself, whatever it says. A budget belongs to one goroutine.
type Budget struct {
	Borrow func(bytes int64) bool // asks for more than the free piece of memory, where somebody shares it out

	ctx    context.Context
	fuel   int64
	memory int64
	fuse   int64 // steps until the next look at the context
	owned  int64 // bytes that are borrowed and not used yet
}

// NewBudget returns a full budget. When ctx is done, what spends it ends with the error of ctx.
func NewBudget(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, fuel: MaxFuel, memory: MaxMemory, fuse: checked, owned: borrowed}
}

// Left is what is left of the steps and the bytes.
func (b *Budget) Left() (fuel, memory int64) { return b.fuel, b.memory }

// step charges work, in steps.
func (b *Budget) step(n int) {
	if b.fuel -= int64(n); b.fuel < 0 {
		failf(tooMuch)
	}
	if b.fuse -= int64(n); b.fuse < 0 {
		b.fuse = checked
		if err := b.ctx.Err(); err != nil {
			panic(stopped{err})
		}
	}
}

// scan charges a walk over so many bytes.
func (b *Budget) scan(bytes int) { b.step(1 + bytes/16) }

// allocate charges memory, and what it takes to fill it.
func (b *Budget) allocate(bytes int) {
	if b.memory -= int64(bytes); b.memory < 0 || bytes < 0 {
		failf(tooMuch)
	}
	b.step(1 + bytes/64)
	if b.owned -= int64(bytes); b.owned < 0 {
		more := max(-b.owned, borrowed)
		if b.Borrow != nil && !b.Borrow(more) {
			panic(stopped{ErrBusy})
		}
		b.owned += more
	}
}

// list charges a list of n items and returns it, empty.
func (b *Budget) list(n int) []any {
	if n > MaxMemory/slotSize {
		failf(tooMuch)
	}
	b.allocate(listSize + slotSize*n)
	return make([]any, 0, n)
}

// grow returns a list with room for one more item.
func (b *Budget) grow(list []any) []any {
	if len(list) < cap(list) {
		return list
	}
	return append(b.list(2*len(list)+2), list...)
}

func (b *Budget) clone(list []any) []any { return append(b.list(len(list)), list...) }

// buffer is a text that grows, charged before it does.
type buffer struct {
	*Budget
	text  strings.Builder
	limit int // bytes, or 0 for none
}

func (b *buffer) add(s string) {
	if b.limit > 0 && b.text.Len()+len(s) > b.limit {
		failf("the text becomes longer than %d bytes", b.limit)
	}
	if b.text.Len()+len(s) > b.text.Cap() {
		b.allocate(2*b.text.Cap() + len(s) + textSize) // as a Builder grows
		b.text.Grow(len(s))
	}
	b.step(1 + len(s)/64)
	b.text.WriteString(s)
}

func (b *buffer) addRune(r rune) {
	var encoded [utf8.UTFMax]byte
	b.add(string(encoded[:utf8.EncodeRune(encoded[:], r)]))
}

// repeat is a text of n times s.
func (b *Budget) repeat(s string, n int) string {
	if n = max(n, 0); len(s) > 0 && n > MaxMemory/len(s) {
		failf(tooMuch)
	}
	b.allocate(n * len(s))
	return strings.Repeat(s, n)
}

// replace is s with up to n of old changed into another text; all of them where n is negative.
func (b *Budget) replace(s, old, other string, n int) string {
	b.scan(len(s))
	count := strings.Count(s, old)
	if n >= 0 {
		count = min(count, n)
	}
	if len(other) > 0 && count > MaxMemory/len(other) {
		failf(tooMuch)
	}
	b.allocate(len(s) + count*len(other))
	return strings.Replace(s, old, other, n)
}

// split cuts s at separator into at most n parts; into all of them where n is not positive.
func (b *Budget) split(s, separator string, n int) []any {
	b.scan(len(s))
	count := strings.Count(s, separator) + 1
	if n > 0 {
		count = min(count, n)
	}
	b.allocate(2 * textSize * count) // the parts share their bytes with s
	list := b.list(count)
	for _, part := range strings.SplitN(s, separator, count) {
		list = append(list, part)
	}
	return list
}

// sort sorts a list of its own, by keys that are made once for each item.
func (b *Budget) sort(list []any, key func(item any) any, order func(a, b any) int) []any {
	type keyed struct{ key, item any }
	b.allocate(4 * slotSize * len(list)) // the sort itself needs none
	all := make([]keyed, len(list))
	for i, item := range list {
		all[i] = keyed{key(item), item}
	}
	slices.SortStableFunc(all, func(x, y keyed) int { return order(x.key, y.key) })
	sorted := make([]any, len(list))
	for i := range all {
		sorted[i] = all[i].item
	}
	return sorted
}
