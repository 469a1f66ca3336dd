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
	decimal               //
	symbol                // an operator or a bracket
	endOfFile             //
)

type token struct {
	kind kind
	text string
	line int
}

// is reports whether the token is this symbol or word. A string that reads like one is not.
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

// lexer cuts a template into tokens, some at a time: it holds those that the parser has not read yet.
type lexer struct {
	source string
	at     int
	line   int
	trim   bool   // the last tag ended with a minus, so that the text behind it loses its leading white space
	end    string // what closes the tag that it is in, or "" between the tags
	braces int    // that are open in this tag
	tokens []token
	read   int // tokens that were taken
}

// peek is the token that comes next, or after that.
func (l *lexer) peek(ahead int) token {
	for len(l.tokens) <= ahead {
		switch {
		case l.end != "":
			l.inTag()
		case l.at < len(l.source):
			l.data()
		default:
			l.emit(endOfFile, "")
		}
	}
	return l.tokens[ahead]
}

func (l *lexer) next() token {
	t := l.peek(0)
	if t.kind != endOfFile {
		l.tokens = append(l.tokens[:0], l.tokens[1:]...)
		l.read++
	}
	return t
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

// data reads up to the next tag, and its opening.
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
	for at := 0; ; at++ {
		found := strings.IndexByte(source[at:], '{')
		if found < 0 || at+found+1 >= len(source) {
			return len(source)
		}
		if at += found; strings.IndexByte("{%#", source[at+1]) >= 0 {
			return at
		}
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
	tag := bareTag{trimBefore: strings.HasPrefix(source[2:], "-")}
	rest, found := strings.CutPrefix(strings.TrimLeftFunc(unsigned(source[2:]), unicode.IsSpace), word)
	rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	tag.trimAfter = strings.HasPrefix(rest, "-")
	rest = unsigned(rest)
	tag.length = len(source) - len(rest) + 2
	return tag, found && strings.HasPrefix(rest, "%}")
}

// tag reads {{ or {%.
func (l *lexer) tag() {
	open := l.rest()[:2]
	l.end, l.braces = "}}", 0
	if open == "{%" {
		l.end = "%}"
	}
	l.emit(opening, open)
	l.skip(2)
	l.skip(len(l.rest()) - len(unsigned(l.rest())))
}

// unsigned leaves a sign for whitespace control out.
func unsigned(source string) string {
	if strings.HasPrefix(source, "-") || strings.HasPrefix(source, "+") {
		return source[1:]
	}
	return source
}

// inTag reads one token of a tag, or its end. The two braces that end a map in an expression are no end of the tag.
func (l *lexer) inTag() {
	l.skip(len(l.rest()) - len(strings.TrimLeftFunc(l.rest(), unicode.IsSpace)))
	rest := l.rest()
	if rest == "" {
		l.fail("a tag is not closed with " + l.end)
	}
	end := unsigned(rest)
	if l.braces > 0 || !strings.HasPrefix(end, l.end) {
		l.token()
		return
	}
	l.trim = rest[0] == '-'
	l.emit(closing, l.end)
	l.skip(len(rest) - len(end) + 2)
	l.end = ""
}

var symbols = []string{
	"//", "**", "==", "!=", "<=", ">=",
	"+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ".", ":", "|",
}

// token reads one token inside a tag.
func (l *lexer) token() {
	rest := l.rest()
	switch rest[0] {
	case '{':
		l.braces++
	case '}':
		l.braces--
	}
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
		k, end = decimal, digits(rest, end+1)
	}
	if end < len(rest) && (rest[end] == 'e' || rest[end] == 'E') {
		exponent := end + 1
		if exponent < len(rest) && (rest[exponent] == '+' || rest[exponent] == '-') {
			exponent++
		}
		if exponent < len(rest) && isDigit(rest[exponent]) {
			k, end = decimal, digits(rest, exponent)
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
