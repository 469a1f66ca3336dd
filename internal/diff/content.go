package diff

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// binaryPrefix is the number of bytes that git reads to tell a binary file from a text.
const binaryPrefix = 8000

// binary reports whether a content is no text: it has a NUL where git looks for one, or it is not UTF-8.
func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binaryPrefix)], 0) >= 0 || !utf8.Valid(content)
}

// lines returns the lines of a text with their line feeds.
func lines(text string) []string {
	all := make([]string, 0, strings.Count(text, "\n")+1)
	return slices.AppendSeq(all, strings.Lines(text))
}

// replacedLines counts the lines between the first and the last difference, without making a list of them.
func replacedLines(old, current []byte) (removed, added int) {
	shorter := min(len(old), len(current))
	head := 0
	for head < shorter && old[head] == current[head] {
		head++
	}
	if head == len(old) && head == len(current) {
		return 0, 0
	}
	head = bytes.LastIndexByte(old[:head], '\n') + 1
	old, current = old[head:], current[head:]
	tail, shorter := 0, shorter-head
	for tail < shorter && old[len(old)-1-tail] == current[len(current)-1-tail] {
		tail++
	}
	if !beginsLine(old, len(old)-tail) || !beginsLine(current, len(current)-tail) {
		// The tail begins within a line, which has changed.
		tail -= max(bytes.IndexByte(old[len(old)-tail:], '\n')+1, 0)
	}
	return countLines(old[:len(old)-tail]), countLines(current[:len(current)-tail])
}

func beginsLine(content []byte, at int) bool {
	return at == 0 || content[at-1] == '\n'
}

func countLines(content []byte) int {
	count := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		count++
	}
	return count
}
