package domain

import (
	"strings"
	"unicode/utf8"
)

// controlPictures is the block of Unicode with a visible sign for each control character, from ␀ on.
const controlPictures = 0x2400

// Harmless is a text without control characters, as a model reads it: each has its visible sign in its place, such as ␛ for an escape and ␀ for NUL,
// so that an escape sequence is none any more, and nothing is hidden from the model. Line breaks, carriage returns and tabs stay. Control characters
// beyond ASCII have no sign, and become the replacement character.
func Harmless(text string) string {
	if !hasControls(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !control(r):
			return r
		case r == 0x7f:
			return controlPictures + 0x21
		case r < 0x20:
			return controlPictures + r
		default:
			return utf8.RuneError
		}
	}, text)
}

// control reports whether a character steers a terminal, or ends a text too early.
func control(r rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return false
	default:
		return r < 0x20 || r >= 0x7f && r < 0xa0
	}
}

func hasControls(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t', c == 0x7f:
			return true
		case c == 0xc2 && i+1 < len(text) && text[i+1] < 0xa0: // U+0080 to U+009F
			return true
		}
	}
	return false
}

// HarmlessSigns counts the signs in a text that [Harmless] puts in the place of control characters, and the control characters themselves.
func HarmlessSigns(text string) (signs, controls int) {
	for _, r := range text {
		switch {
		case r >= controlPictures && r <= controlPictures+0x21, r == utf8.RuneError:
			signs++
		case control(r):
			controls++
		}
	}
	return signs, controls
}
