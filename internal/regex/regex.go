package regex

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
)

const (
	estimates    = 4       // an expression is not compiled where its estimate is so many times the limit
	quickCost    = 1 << 20 // a match of this cost takes a few milliseconds, and runs without a look at the context
	runesPerLook = 1024    // runes that a longer match reads between two looks
)

// ErrTooLarge is the error of an expression with more instructions than its limit.
var ErrTooLarge = errors.New("regex: the expression has too many instructions")

// Regexp is a compiled expression of a known size.
type Regexp struct {
	*regexp.Regexp
	Tree *syntax.Regexp // as parsed; it must not be changed
	Size int            // instructions
}

// Compile compiles text, in RE2 syntax, to at most limit instructions. Errors are [*syntax.Error] and [ErrTooLarge].
func Compile(text string, limit int) (*Regexp, error) {
	return compile(text, syntax.Perl, "", limit)
}

// CompileFold is [Compile] for an expression that ignores case.
func CompileFold(text string, limit int) (*Regexp, error) {
	return compile(text, syntax.Perl|syntax.FoldCase, "(?i)", limit)
}

// compile parses text without the prefix, so that errors quote nothing that the author did not write.
func compile(text string, flags syntax.Flags, prefix string, limit int) (*Regexp, error) {
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, err
	}
	if estimate(tree, estimates*limit) > estimates*limit {
		return nil, ErrTooLarge
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > limit {
		return nil, ErrTooLarge
	}
	compiled, err := regexp.Compile(prefix + text)
	return &Regexp{Regexp: compiled, Tree: tree, Size: len(program.Inst)}, err
}

// estimate is about the number of instructions that a tree compiles to, seldom less. It stops counting beyond limit. A repetition
// is written out, also within another one.
func estimate(tree *syntax.Regexp, limit int) int {
	size := 0
	for _, part := range tree.Sub {
		if size += estimate(part, limit); size > limit {
			return size
		}
	}
	switch tree.Op {
	case syntax.OpConcat:
		return size
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpRepeat: // neither number is over a thousand
		return (size + 1) * max(tree.Min+1, tree.Max)
	default:
		return size + len(tree.Sub) + 1
	}
}

// Cost is the most work of a match in a text of so many bytes: steps of the automaton.
func (r *Regexp) Cost(bytes int) int { return r.Size * (1 + bytes) }

// FindIndexContext returns where the first match in text begins and ends. Its result means nothing once ctx has ended.
func (r *Regexp) FindIndexContext(ctx context.Context, text []byte) []int {
	if r.Cost(len(text)) <= quickCost {
		return r.FindIndex(text)
	}
	return r.FindReaderIndex(&endingRunes{ctx: ctx, source: bytes.NewReader(text)})
}

// endingRunes reads the runes of a text, until the context ends.
type endingRunes struct {
	ctx    context.Context
	source *bytes.Reader
	read   int
}

// ReadRune implements [io.RuneReader].
func (r *endingRunes) ReadRune() (char rune, size int, err error) {
	if r.read++; r.read%runesPerLook == 0 && r.ctx.Err() != nil {
		return 0, 0, r.ctx.Err()
	}
	return r.source.ReadRune()
}
