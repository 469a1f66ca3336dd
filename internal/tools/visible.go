package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible writes text as one line in which every character can be seen. A newline becomes ⏎ and whatever prints as
// nothing, as blank, or turns the reading direction becomes its number, such as ⟨U+202E⟩.
func visible(text string) string {
	var line strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			line.WriteRune('⏎')
		case hidden(r):
			fmt.Fprintf(&line, "⟨U+%04X⟩", r)
		default:
			line.WriteRune(r)
		}
	}
	return line.String()
}

// hidden tells whether a person would not see r. Unicode calls some of them letters, marks or symbols: the Hangul
// fillers, the variation selectors, the blank Braille cell.
func hidden(r rune) bool {
	if !unicode.IsPrint(r) {
		return true
	}
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// shorten keeps the first head and the last tail characters of a long line and says how many it hides. The tail
// matters: the end of a command is where the harm would be hidden.
func shorten(line string, head, tail int) string {
	length := utf8.RuneCountInString(line)
	if length <= head+tail {
		return line
	}
	runes := []rune(line)
	return fmt.Sprintf("%s … (%d characters hidden) … %s",
		string(runes[:head]), length-head-tail, string(runes[length-tail:]))
}

// folder is the name of a directory as it stands in a summary.
func folder(dir string) string { return shorten(visible(dir), 100, 100) }

// code is text as it stands in a summary, between more backticks than it has in a row itself: a command must not be
// able to end its own quotation and go on with a sentence of ours.
func code(text string) string {
	line := shorten(visible(text), 200, 100)
	fence := "`"
	for strings.Contains(line, fence) {
		fence += "`"
	}
	return fence + line + fence
}
