package regex

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

const limit = 5000

func TestLargeExpressionsAreRefused(t *testing.T) {
	for text, allowed := range map[string]bool{
		"": true, `^\s*func (\w+)\(`: true, "[0-9]{1,3}(\\.[0-9]{1,3}){3}": true, "a{0,1000}": true, "a{1000,}": true, ".{0,200}x.{0,200}": true,
		strings.Repeat("x", 1000):                 true,
		strings.Repeat("a{0,1000}", 6):            false,
		"(" + strings.Repeat("x", 10) + "){1000}": false,
		"(?:a?){1000}":                            true,
		strings.Repeat("(?:a?){1000}", 3):         false,
		strings.Repeat("(?:a?){1000}", 30):        false, // refused before it is compiled
	} {
		for _, compile := range []func(string, int) (*Regexp, error){Compile, CompileFold} {
			compiled, err := compile(text, limit)
			if allowed && (err != nil || compiled.Size > limit) || !allowed && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%.40q: %v", text, err)
			}
		}
	}
}

func TestCaseIsIgnoredWhereAsked(t *testing.T) {
	exact, err := Compile("abc", limit)
	folded, errFolded := CompileFold("abc", limit)
	if err != nil || errFolded != nil || exact.MatchString("aBc") || !folded.MatchString("aBc") {
		t.Error(err, errFolded)
	}
}

// TestMatchesEndWithTheContext has a text and an expression that would keep each other busy.
func TestMatchesEndWithTheContext(t *testing.T) {
	text := []byte(strings.Repeat("a", 64*runesPerLook) + "Z")
	expression, err := Compile("(?:a?b?){10}Z$", limit)
	if err != nil {
		t.Fatal(err)
	}
	if match := expression.FindIndexContext(t.Context(), text); match == nil || match[1] != len(text) {
		t.Errorf("found at %v", match)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if match := expression.FindIndexContext(over, text); match != nil {
		t.Errorf("found at %v after the end", match)
	}
	runes := endingRunes{ctx: over, source: bytes.NewReader(text)}
	_ = expression.FindReaderIndex(&runes)
	if read := len(text) - runes.source.Len(); read > runesPerLook {
		t.Errorf("%d bytes were read after the end", read)
	}
}
