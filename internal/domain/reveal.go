package domain

import (
	"fmt"
	"strings"
	"unicode"
)

// Reveal is text in which a person sees every character: what prints as nothing, as blank, or turns the reading direction
// becomes its number, such as ⟨U+202E⟩. Lines and plain spaces stay.
func Reveal(text string) string {
	var shown strings.Builder
	for _, r := range text {
		if r != '\n' && unseen(r) {
			fmt.Fprintf(&shown, "⟨U+%04X⟩", r)
			continue
		}
		shown.WriteRune(r)
	}
	return shown.String()
}

// unseen tells whether a person would not see r. Unicode calls some of them letters, marks or symbols: the Hangul fillers, the
// variation selectors, the blank Braille cell.
func unseen(r rune) bool {
	if !unicode.IsPrint(r) {
		return true
	}
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}
