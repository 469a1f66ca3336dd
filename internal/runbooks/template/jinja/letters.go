package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upper and lower follow Unicode's full mapping, as Rust does: ß becomes SS, and the last sigma of a word ς.

func (b *Budget) upper(s string) string { return b.mapped(s, strings.ToUpper, cases.Upper) }

func (b *Budget) lower(s string) string { return b.mapped(s, strings.ToLower, cases.Lower) }

func (b *Budget) mapped(s string, ascii func(string) string, full func(language.Tag, ...cases.Option) cases.Caser) string {
	plain := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	if plain {
		b.allocate(len(s))
		return ascii(s)
	}
	b.allocate(256 + 6*len(s)) // ΐ has two bytes and becomes six, and the caser has to find that out
	b.step(len(s))
	return full(language.Und).String(s)
}

func (b *Budget) capitalized(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	out := &buffer{Budget: b}
	out.add(b.upper(s[:size]))
	out.add(b.lower(s[size:]))
	return out.text.String()
}

// titled begins each word with a capital, where punctuation ends a word, too.
func (b *Budget) titled(s string) string {
	out, start := &buffer{Budget: b}, true
	for _, r := range s {
		begins := start
		start = unicode.IsSpace(r) || r < utf8.RuneSelf && unicode.IsPunct(r) || strings.ContainsRune("$+<=>^`|~", r)
		switch {
		case begins && r >= utf8.RuneSelf:
			out.add(b.upper(string(r)))
		case begins:
			out.addRune(unicode.ToUpper(r))
		default:
			out.addRune(unicode.ToLower(r))
		}
	}
	return out.text.String()
}
