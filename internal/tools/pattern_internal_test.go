package tools

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestPatternsOfManySteps(t *testing.T) {
	for pattern, allowed := range map[string]bool{
		"": true, `^\s*func (\w+)\(`: true, "[0-9]{1,3}(\\.[0-9]{1,3}){3}": true, "a{0,1000}": true, "a{1000,}": true, ".{0,200}x.{0,200}": true,
		strings.Repeat("x", 1000):                 true,
		strings.Repeat("a{0,1000}", 6):            false,
		"(" + strings.Repeat("x", 10) + "){1000}": false,
		"(?:a?){1000}":                            true,
		strings.Repeat("(?:a?){1000}", 3):         false,
	} {
		compiled, err := readPattern(pattern, true)
		if (err == nil) != allowed || allowed && compiled.steps > maxPatternSteps {
			t.Errorf("%.40q has %d steps, %v", pattern, compiled.steps, err)
		}
	}
}

// TestMatchesEndWithTheContext has a line and a pattern that would keep each other busy.
func TestMatchesEndWithTheContext(t *testing.T) {
	line := []byte(strings.Repeat("a", 64*runesPerLook) + "Z")
	pattern, err := readPattern("(?:a?b?){10}Z$", false)
	if err != nil {
		t.Fatal(err)
	}
	if match := pattern.find(t.Context(), line); match == nil || match[1] != len(line) {
		t.Errorf("found at %v", match)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if match := pattern.find(over, line); match != nil {
		t.Errorf("found at %v after the end", match)
	}
	runes := endingRunes{ctx: over, source: bytes.NewReader(line)}
	_ = pattern.compiled.FindReaderIndex(&runes)
	if read := len(line) - runes.source.Len(); read > runesPerLook {
		t.Errorf("%d bytes were read after the end", read)
	}
}
