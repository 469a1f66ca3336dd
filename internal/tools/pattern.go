package tools

import (
	"errors"
	"regexp/syntax"
	"strings"

	"signoff/internal/regex"
)

// maxPatternSize bounds the instructions of a model's regular expression.
const maxPatternSize = 5000

// readPattern compiles a regular expression of a model. Its error says where the expression is wrong.
func readPattern(pattern string, ignoreCase bool) (*regex.Regexp, error) {
	compile := regex.Compile
	if ignoreCase {
		compile = regex.CompileFold
	}
	compiled, err := compile(pattern, maxPatternSize)
	var wrong *syntax.Error
	switch {
	case err == nil:
		return compiled, nil
	case errors.Is(err, regex.ErrTooLarge):
		return nil, invalid("The pattern is too large: written out, its repetitions come to more than %d steps. Use fewer or shorter ones.", maxPatternSize)
	case errors.As(err, &wrong):
		at := len([]rune(pattern[:max(0, strings.Index(pattern, wrong.Expr))])) + 1
		return nil, invalid("The pattern is no regular expression in RE2 syntax: %s at character %d, %s. Escape what is meant literally.",
			wrong.Code, at, code(wrong.Expr))
	default:
		return nil, invalid("The pattern is no regular expression in RE2 syntax.")
	}
}
