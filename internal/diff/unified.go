package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// DevNull is the name of a missing file in a unified diff.
const DevNull = "/dev/null"

// Unified writes the hunks as a unified diff between two names. Without hunks, it is empty.
func (d Diff) Unified(oldName, newName string) string {
	if len(d.Hunks) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n", headerName(oldName), headerName(newName))
	for _, h := range d.Hunks {
		h.write(&text)
	}
	return text.String()
}

// headerName returns a name for the header of a diff, in one line.
func headerName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

func (h Hunk) write(text *strings.Builder) {
	fmt.Fprintf(text, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	for _, line := range h.Lines {
		text.WriteByte(byte(line.Op))
		text.WriteString(line.Text)
		text.WriteByte('\n')
		if line.NoNewline {
			text.WriteString("\\ No newline at end of file\n")
		}
	}
}
