package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// revealed is text in which a person sees every character: what prints as nothing, as blank, or turns the reading direction becomes
// its number, such as ⟨U+202E⟩. Lines and plain spaces stay.
func revealed(text string) string {
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

// readable is a JSON document in one spelling, over several lines. A letter that was written as an escape is a letter again: nobody reads
// \u0072\u006d as rm.
func readable(document json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // or 9007199254740993 would be shown as its neighbour
	var value any
	if err := decoder.Decode(&value); err != nil {
		return revealed(string(document))
	}
	var shown bytes.Buffer
	encoder := json.NewEncoder(&shown)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil { // unreachable: it has just been decoded
		return revealed(string(document))
	}
	return revealed(strings.TrimSpace(shown.String()))
}
