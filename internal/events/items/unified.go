package items

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// fileDiff is the change of one file, as a unified diff.
type fileDiff struct {
	path                 string
	text                 string
	additions, deletions int
}

// newFileDiff compares two texts. before is nil for a new or unknown file.
func newFileDiff(path string, before *string, after string) fileDiff {
	path, _ = bounded(path, pathBytes)
	from, old, current := devNull, []string(nil), lines(after)
	if before != nil {
		from, old = headerPath(path), lines(*before)
		endAlike(old, current)
	}
	script := compared(old, current)
	diff := fileDiff{path: path, text: unified(script)}
	if diff.text != "" {
		diff.text = fmt.Sprintf("--- %s\n+++ %s\n%s", from, headerPath(path), diff.text)
	}
	diff.count(script)
	return diff
}

// pathBytes bounds a path.
const pathBytes = 4096

// headerPath returns a path for the header of a diff, in one line.
func headerPath(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// lines returns the lines of a text with their ends.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// endAlike adds line feeds to two texts that both lack one at the end. They are parts of a file, so a diff must not say that the file has no
// line feed at its end.
func endAlike(old, current []string) {
	if len(old) == 0 || len(current) == 0 {
		return
	}
	a, b := &old[len(old)-1], &current[len(current)-1]
	if !strings.HasSuffix(*a, "\n") && !strings.HasSuffix(*b, "\n") {
		*a, *b = *a+"\n", *b+"\n"
	}
}

func (d *fileDiff) count(script []scriptLine) {
	for _, line := range script {
		switch line.op {
		case '+':
			d.additions++
		case '-':
			d.deletions++
		}
	}
}

// contextLines is how many unchanged lines are shown around those that have changed.
const contextLines = 3

// unified writes the hunks of a script.
func unified(script []scriptLine) string {
	var text strings.Builder
	old, current, done := 0, 0, 0 // lines of the two texts, and of the script, that are behind us
	for at := 0; at < len(script); at++ {
		if script[at].op == ' ' {
			continue
		}
		from, to := max(done, at-contextLines), hunkEnd(script, at)
		old, current = old+from-done, current+from-done
		removed, added := writeHunk(&text, script[from:to], old, current)
		old, current = old+removed, current+added
		at, done = to-1, to
	}
	return text.String()
}

// hunkEnd returns the end of the hunk with its first change at from. Changes whose contexts touch or overlap share a hunk.
func hunkEnd(script []scriptLine, from int) int {
	last := from
	for at := from; at < len(script) && at <= last+2*contextLines+1; at++ {
		if script[at].op != ' ' {
			last = at
		}
	}
	return min(last+contextLines+1, len(script))
}

// writeHunk writes a hunk behind so many lines of each text, and returns the number of its lines in each.
func writeHunk(text *strings.Builder, hunk []scriptLine, oldBefore, currentBefore int) (old, current int) {
	for _, line := range hunk {
		if line.op != '+' {
			old++
		}
		if line.op != '-' {
			current++
		}
	}
	fmt.Fprintf(text, "@@ -%s +%s @@\n", lineRange(oldBefore, old), lineRange(currentBefore, current))
	for _, line := range hunk {
		text.WriteByte(line.op)
		text.WriteString(line.text)
		if !strings.HasSuffix(line.text, "\n") {
			text.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return old, current
}

// lineRange returns the first line, from 1, and the number of lines; without lines, the line before them.
func lineRange(before, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, count)
}

const devNull = "/dev/null"
