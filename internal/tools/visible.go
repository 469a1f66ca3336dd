package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// visible writes text as one line in which every character can be seen.
func visible(text string) string { return flat(domain.ShowUnseen(text)) }

// revealed is text as one line for a decider: look-alikes are marked as well.
func revealed(text string) string { return flat(domain.Reveal(text)) }

func flat(text string) string { return strings.ReplaceAll(text, "\n", "⏎") }

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
func folder(dir string) string { return shorten(revealed(dir), 100, 100) }

// code is text as it stands in a summary, between more backticks than it has in a row itself: a command must not be
// able to end its own quotation and go on with a sentence of ours.
func code(text string) string {
	line := shorten(revealed(text), 200, 100)
	fence := "`"
	for strings.Contains(line, fence) {
		fence += "`"
	}
	return fence + line + fence
}
