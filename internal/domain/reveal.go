package domain

import (
	"fmt"
	"strings"
	"unicode"
)

// ShowUnseen is text in which no character is hidden: what prints as nothing, as blank, or turns the reading direction becomes its
// number, such as ⟨U+202E⟩. Lines, plain spaces and words in any script stay: what is shown to models is to be of use to them.
func ShowUnseen(text string) string {
	var shown strings.Builder
	for _, r := range text {
		show(&shown, r, unseen(r))
	}
	return shown.String()
}

// Reveal is text in which a person sees each character for what it is, for whoever decides on it. It marks what [ShowUnseen] marks; the
// letters of scripts that run from right to left, which change the order in which their neighbours are read; and look-alikes of ASCII
// characters. A look-alike stays where nobody can mistake it: in a word with other letters of its script and none of ASCII. So does a dash
// between blanks, as sentences have it.
func Reveal(text string) string {
	var shown strings.Builder
	begin := 0 // of the word under way
	for i, r := range text {
		if endsWord(r) {
			revealWord(&shown, text, begin, i)
			show(&shown, r, unseen(r) || leftward(r))
			begin = i + len(string(r))
		}
	}
	revealWord(&shown, text, begin, len(text))
	return shown.String()
}

func show(shown *strings.Builder, r rune, marked bool) {
	if marked && r != '\n' {
		fmt.Fprintf(shown, "⟨U+%04X⟩", r)
		return
	}
	shown.WriteRune(r)
}

// unseen reports whether a person would not see r. Unicode calls some of them letters, marks or symbols: the Hangul fillers, the
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
