package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	data      kind = iota // text between the tags, whitespace control already applied
	opening               // {{ or {%
	closing               // }} or %}
	name                  // also keywords; the grammar tells them apart
	text                  // a string, unescaped
	integer               //
	float                 //
	symbol                // an operator or a bracket
	endOfFile             //
)

type token struct {
	kind kind
	text string
	line int
}

// is tells whether the token is this symbol or word. A string that reads like one is not.
func (t token) is(text string) bool {
	return (t.kind == symbol || t.kind == name) && t.text == text
}

func (t token) String() string {
	if t.kind == endOfFile {
		return "the end of the template"
	}
	if t.kind == text {
		return "a text"
	}
	return strconv.Quote(t.text)
}

// lexer cuts a template into tokens. gonja has one of its own, which takes no line breaks within a tag and skips what it
// does not know.
type lexer struct {
	source string
	at     int
	line   int
	trim   bool // the last tag ended with a minus, so that the text behind it loses its leading white space
	tokens []token
}

func lex(source string) []token {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	l := &lexer{source: strings.TrimSuffix(source, "\n"), line: 1}
	for l.at < len(l.source) {
		l.data()
	}
	l.emit(endOfFile, "")
	return l.tokens
}

func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{k, text, l.line})
}

func (l *lexer) rest() string { return l.source[l.at:] }

// skip moves on by n bytes and counts the lines.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.source[l.at:l.at+n], "\n")
	l.at += n
}

// data reads up to the next tag, and that tag.
func (l *lexer) data() {
	start := nextTag(l.rest())
	chunk := l.rest()[:start]
	opened := l.rest()[start:]
	l.text(chunk, len(opened) > 2 && opened[2] == '-')
	l.skip(start)
	switch {
	case opened == "":
	case opened[1] == '#':
		l.comment()
	case opened[1] == '%' && l.raw():
	default:
		l.tag()
	}
}

// nextTag is where the next tag begins, or the end.
func nextTag(source string) int {
	for at := 0; ; {
		found := strings.IndexByte(source[at:], '{')
		if found < 0 || at+found+1 >= len(source) {
			return len(source)
		}
		at += found
		if strings.IndexByte("{%#", source[at+1]) >= 0 {
			return at
		}
		at++
	}
}

func (l *lexer) text(chunk string, trimEnd bool) {
	if l.trim {
		chunk = strings.TrimLeftFunc(chunk, unicode.IsSpace)
	}
	if trimEnd {
		chunk = strings.TrimRightFunc(chunk, unicode.IsSpace)
	}
	l.trim = false
	if chunk != "" {
		l.emit(data, chunk)
	}
}

func (l *lexer) comment() {
	end := strings.Index(l.source[l.at+2:], "#}")
	if end < 0 {
		l.fail("a comment is not closed with #}")
	}
	l.trim = end > 0 && l.source[l.at+2+end-1] == '-'
	l.skip(end + 4)
}

// raw reads {% raw %}…{% endraw %}, whose inside is text whatever it looks like.
func (l *lexer) raw() bool {
	start, ok := rawTag(l.rest(), "raw")
	if !ok {
		return false
	}
	for at := start.length; ; at++ {
		found := strings.Index(l.rest()[at:], "{%")
		if found < 0 {
			l.fail(`"raw" is not closed with {% endraw %}`)
		}
		at += found
		end, ok := rawTag(l.rest()[at:], "endraw")
		if !ok {
			continue
		}
		l.trim = start.trimAfter
		l.text(l.rest()[start.length:at], end.trimBefore)
		l.trim = end.trimAfter
		l.skip(at + end.length)
		return true
	}
}

type bareTag struct {
	length                int
	trimBefore, trimAfter bool
}

// rawTag reads a tag that is nothing but a word.
func rawTag(source, word string) (bareTag, bool) {
	inside, _, closed := strings.Cut(source[2:], "%}")
	content := strings.TrimSpace(strings.Trim(inside, "-+"))
	return bareTag{
		length:     len(inside) + 4,
		trimBefore: strings.HasPrefix(inside, "-"),
		trimAfter:  strings.HasSuffix(inside, "-"),
	}, closed && content == word
}

// tag reads {{ … }} or {% … %}.
func (l *lexer) tag() {
	open, end := l.rest()[:2], "}}"
	if open == "{%" {
		end = "%}"
	}
	l.emit(opening, open)
	l.skip(2)
	if l.rest() != "" && (l.rest()[0] == '-' || l.rest()[0] == '+') {
		l.skip(1)
	}
	for depth := 0; ; {
		l.space()
		rest := l.rest()
		switch {
		case rest == "":
			l.fail("a tag is not closed with " + end)
		case depth == 0 && strings.HasPrefix(rest, "-"+end), depth == 0 && strings.HasPrefix(rest, "+"+end):
			l.trim = rest[0] == '-'
			l.emit(closing, end)
			l.skip(3)
			return
		case depth == 0 && strings.HasPrefix(rest, end):
			l.emit(closing, end)
			l.skip(2)
			return
		}
		depth += nesting(rest[0])
		l.next()
	}
}

// nesting counts braces, so that the two that end a map in an expression are not taken for the end of the tag.
func nesting(c byte) int {
	switch c {
	case '{':
		return 1
	case '}':
		return -1
	}
	return 0
}

func (l *lexer) space() {
	rest := l.rest()
	l.skip(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
}

var symbols = []string{
	"//", "**", "==", "!=", "<=", ">=",
	"+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ".", ":", "|",
}

// next reads one token inside a tag.
func (l *lexer) next() {
	rest := l.rest()
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first == '"' || first == '\'':
		l.string(rest[0])
	case first >= '0' && first <= '9':
		l.number()
	case wordy(first):
		word := rest[:len(rest)-len(strings.TrimLeftFunc(rest, wordy))]
		l.emit(name, word)
		l.skip(len(word))
	default:
		for _, s := range symbols {
			if strings.HasPrefix(rest, s) {
				l.emit(symbol, s)
				l.skip(len(s))
				return
			}
		}
		l.fail("unexpected character " + strconv.QuoteRune(first))
	}
}

func wordy(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (l *lexer) number() {
	rest, k := l.rest(), integer
	end := digits(rest, 0)
	if end+1 < len(rest) && rest[end] == '.' && isDigit(rest[end+1]) {
		k, end = float, digits(rest, end+1)
	}
	if end < len(rest) && (rest[end] == 'e' || rest[end] == 'E') {
		exponent := end + 1
		if exponent < len(rest) && (rest[exponent] == '+' || rest[exponent] == '-') {
			exponent++
		}
		if exponent < len(rest) && isDigit(rest[exponent]) {
			k, end = float, digits(rest, exponent)
		}
	}
	l.emit(k, strings.ReplaceAll(rest[:end], "_", ""))
	l.skip(end)
}

func digits(source string, at int) int {
	for at < len(source) && (isDigit(source[at]) || source[at] == '_') {
		at++
	}
	return at
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) string(quote byte) {
	var out strings.Builder
	rest := l.rest()
	for at := 1; at < len(rest); {
		switch {
		case rest[at] == quote:
			l.emit(text, out.String())
			l.skip(at + 1)
			return
		case rest[at] == '\\' && at+1 < len(rest):
			at += l.escape(rest[at:], &out)
		default:
			out.WriteByte(rest[at])
			at++
		}
	}
	l.fail("a text is not closed with " + string(quote))
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// escape reads one backslash sequence and returns its length.
func (l *lexer) escape(source string, out *strings.Builder) int {
	switch c := source[1]; {
	case c == 'u' && len(source) >= 6:
		code, err := strconv.ParseUint(source[2:6], 16, 32)
		if err != nil {
			l.fail(`\u needs four hexadecimal digits`)
		}
		out.WriteRune(rune(code))
		return 6
	case escapes[c] != 0:
		out.WriteByte(escapes[c])
	case strings.IndexByte(`"'\/`, c) >= 0:
		out.WriteByte(c)
	default:
		l.fail(`unknown escape \` + string(rune(c)))
	}
	return 2
}

func (l *lexer) fail(message string) { panic(&FaultError{Line: l.line, Message: message}) }
