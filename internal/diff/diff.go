package diff

import (
	"math"
	"strings"
)

// Diff lists the changes from an old text to a new one. It is empty if they are equal.
type Diff struct {
	Hunks     []Hunk
	Additions int
	Deletions int
	Binary    bool // a content is no text: there are no hunks and no counts
	Truncated bool // hunks, or the last lines of the last hunk, are missing
}

// Limits bounds the comparison of two files.
type Limits struct {
	Bytes int // of each content; the diff counts the lines of a larger one, and leaves them out
	Lines int // of all hunks together; the diff counts further lines, and leaves them out
}

// Files compares two contents of a file. A missing file has an empty content.
func Files(old, current []byte, limits Limits) Diff {
	switch {
	case binary(old) || binary(current):
		return Diff{Binary: true}
	case max(len(old), len(current)) > limits.Bytes:
		deletions, additions := replacedLines(old, current)
		return Diff{Additions: additions, Deletions: deletions, Truncated: additions+deletions > 0}
	}
	return between(lines(string(old)), lines(string(current)), fileEffort, limits.Lines)
}

// Excerpts compares two parts of a file. If both lack a line feed at the end, the diff does not mention it: the file may go on after them.
func Excerpts(old, current string) Diff {
	before, after := lines(old), lines(current)
	endAlike(before, after)
	return between(before, after, excerptEffort, math.MaxInt)
}

func between(old, current []string, bound effort, maxLines int) (compared Diff) {
	edits := compare(old, current, bound)
	for _, e := range edits {
		compared.Deletions += e.oldTo - e.oldFrom
		compared.Additions += e.newTo - e.newFrom
	}
	compared.Hunks, compared.Truncated = hunks(old, current, edits, maxLines)
	return compared
}

// endAlike adds line feeds to two texts that both lack one at the end.
func endAlike(old, current []string) {
	if len(old) == 0 || len(current) == 0 {
		return
	}
	a, b := &old[len(old)-1], &current[len(current)-1]
	if !strings.HasSuffix(*a, "\n") && !strings.HasSuffix(*b, "\n") {
		*a, *b = *a+"\n", *b+"\n"
	}
}
