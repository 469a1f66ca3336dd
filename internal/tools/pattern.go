package tools

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	maxPatternSteps = 5000
	quickWork       = 1 << 20 // bytes of a line times steps of the pattern that are tried without a look at the context
	runesPerLook    = 1024
)

// linePattern is a regular expression of a model's.
//
// RE2 needs no more than the length of the text times that of the pattern, and a thousand bytes of pattern can stand for a
// hundred million steps: a{0,1000} has two thousand. Such patterns held gigabytes, and one line kept them busy for minutes
// after the execution was over. So what a pattern stands for is counted before it is compiled, and a match can be stopped.
type linePattern struct {
	compiled *regexp.Regexp
	steps    int
}

// readPattern says where a pattern is wrong.
func readPattern(pattern string, ignoreCase bool) (linePattern, error) {
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return linePattern{}, wrongPattern(pattern, err)
	}
	steps := stepsOf(tree)
	if steps > maxPatternSteps {
		return linePattern{}, invalid("The pattern is too large: written out, its repetitions come to more than %d steps. Use fewer or shorter ones.",
			maxPatternSteps)
	}
	prefix := ""
	if ignoreCase {
		prefix = "(?i)"
	}
	compiled, err := regexp.Compile(prefix + pattern)
	if err != nil {
		return linePattern{}, wrongPattern(pattern, err)
	}
	return linePattern{compiled, steps}, nil
}

func wrongPattern(pattern string, err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return invalid("The pattern is no regular expression in RE2 syntax.")
	}
	at := len([]rune(pattern[:max(0, strings.Index(pattern, wrong.Expr))])) + 1
	return invalid("The pattern is no regular expression in RE2 syntax: %s at character %d, %s. Escape what is meant literally.",
		wrong.Code, at, code(wrong.Expr))
}

// stepsOf is about how many instructions an expression compiles to, seldom fewer. What is repeated is written out that often,
// also within what is repeated itself.
func stepsOf(tree *syntax.Regexp) int {
	steps := 0
	for _, part := range tree.Sub {
		if steps += stepsOf(part); steps > maxPatternSteps {
			return steps
		}
	}
	switch tree.Op {
	case syntax.OpConcat:
		return steps
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpRepeat: // neither number is over a thousand
		return (steps + 1) * max(tree.Min+1, tree.Max)
	default:
		return steps + len(tree.Sub) + 1
	}
}

// find returns where the first match in a line begins and ends. Where the context ends meanwhile, that means nothing.
func (p linePattern) find(ctx context.Context, line []byte) []int {
	if len(line)*p.steps <= quickWork {
		return p.compiled.FindIndex(line)
	}
	return p.compiled.FindReaderIndex(&endingRunes{ctx: ctx, source: bytes.NewReader(line)})
}

// endingRunes are those of a line, until the context ends.
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
