package domain

import (
	"cmp"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

//go:embed lookalikes.txt
var lookAlikesText string

// lookAlikes are the characters that a person takes for ASCII. The console has the same table, as lookalikes.js; a test writes that.
var lookAlikes = sync.OnceValue(func() *unicode.RangeTable {
	spans, err := parseSpans(lookAlikesText)
	if err != nil { // unreachable: the table is a part of the program
		panic(err)
	}
	return rangeTable(spans)
})

// rightToLeft are the blocks of the scripts that run from right to left.
var rightToLeft = rangeTable([][2]rune{{0x0590, 0x08FF}, {0xFB1D, 0xFDFF}, {0xFE70, 0xFEFF}, {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}})

func leftward(r rune) bool { return r >= 0x0590 && unicode.Is(rightToLeft, r) }

func lookAlike(r rune) bool { return r >= 0x80 && unicode.Is(lookAlikes(), r) }

// endsWord reports whether r belongs to no word: blanks, the signs of ASCII, and what is marked wherever it stands.
func endsWord(r rune) bool {
	if r < 0x80 {
		return !asciiLetter(r) && (r < '0' || r > '9')
	}
	return unseen(r) || leftward(r)
}

func asciiLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func revealWord(shown *strings.Builder, text string, from, to int) {
	word := text[from:to]
	deceives := deceptive(word) && !spaced(text, from, to)
	for _, r := range word {
		show(shown, r, deceives && lookAlike(r))
	}
}

// spaced reports whether the word text[from:to] is a dash between blanks, as sentences have it.
func spaced(text string, from, to int) bool {
	switch text[from:to] {
	case "‒", "–", "—", "―":
		return from > 0 && isBlank(text[from-1]) && to < len(text) && isBlank(text[to])
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// deceptive reports whether the look-alikes of a word may be taken for ASCII: beside letters of ASCII, or among themselves. In a word with
// other letters, such as привет, they are what they look like.
func deceptive(word string) bool {
	own := false
	for _, r := range word {
		if asciiLetter(r) {
			return true
		}
		own = own || r >= 0x80 && unicode.IsLetter(r) && !lookAlike(r)
	}
	return !own
}

// parseSpans reads lines of code points, as 0061 or 0061-007A, and puts them in their order. A line that begins with # is a comment.
func parseSpans(text string) (spans [][2]rune, err error) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			first, last, isSpan := strings.Cut(word, "-")
			if !isSpan {
				last = first
			}
			low, err := strconv.ParseInt(first, 16, 32)
			high, err2 := strconv.ParseInt(last, 16, 32)
			if err := errors.Join(err, err2); err != nil {
				return nil, err
			}
			spans = append(spans, [2]rune{rune(low), rune(high)})
		}
	}
	slices.SortFunc(spans, func(a, b [2]rune) int { return cmp.Compare(a[0], b[0]) })
	return spans, nil
}

func rangeTable(spans [][2]rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, span := range spans {
		if span[1] <= 0xFFFF {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(span[0]), Hi: uint16(span[1]), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(span[0]), Hi: uint32(span[1]), Stride: 1})
		}
	}
	return t
}
