package wire

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
)

// MaxMessageBytes bounds a text of a server's in a sentence of ours.
const MaxMessageBytes = 1000

// Quote is text of a server's in a sentence of ours.
func Quote(text string) string { return fmt.Sprintf("%q", Line(text, MaxMessageBytes)) }

// Line is a server's text as one short line.
func Line(text string, limit int) string {
	text = strings.Join(strings.Fields(Harmless(text)), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// Harmless is text without characters that a person does not see, or that a terminal obeys.
func Harmless(text string) string {
	parts := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\t")
	for i, part := range parts {
		parts[i] = domain.ShowUnseen(strings.ToValidUTF8(part, "\uFFFD"))
	}
	return strings.Join(parts, "\t")
}
