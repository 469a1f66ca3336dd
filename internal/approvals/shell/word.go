package shell

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Unknown stands for the name of a file that is written, where it cannot be known.
const Unknown = "?"

// kind says how much of a word is known before the line runs.
type kind int

const (
	plain  kind = iota // it is exactly its text
	inPath             // a tilde, or a pattern behind a plain beginning: whatever it becomes begins no option
	wild               // a pattern that may become anything: * also matches a file that is called -delete
	opaque             // nothing is known
)

// word is one word of a command.
type word struct {
	text string // its value; as written where that is not known
	kind kind
}

// texts returns the texts of words.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// wordsOf are words of which each is exactly its text.
func wordsOf(texts []string) []word {
	words := make([]word, len(texts))
	for i, text := range texts {
		words[i] = word{text: text}
	}
	return words
}

// size is the work that it takes to handle words once.
func size(words []word) int {
	total := len(words)
	for _, w := range words {
		total += len(w.text)
	}
	return total
}

// wording builds a word from its parts.
type wording struct {
	*reading
	text    strings.Builder // grows by [wording.write], so that its growth is counted
	pattern bool            // an unquoted * ? or [
	tilde   bool            // an unquoted ~ where bash expands it
	brace   bool            // an unquoted {
	opaque  bool
	// leading tells that what is first can be an option once the patterns are expanded.
	leading bool
}

// word reads a word. Commands of substitutions within it are found on the way.
func (r *reading) word(from *syntax.Word) word {
	if !r.spend(1) {
		return word{"", opaque}
	}
	w := &wording{reading: r}
	for _, part := range from.Parts {
		w.part(part)
	}
	text := w.text.String()
	if w.brace && (strings.Contains(text, ",") || strings.Contains(text, "..")) {
		w.opaque = true
	}
	switch {
	case w.opaque:
		r.unclear("What %s becomes is known only when it runs.", quoted(text))
		return word{text, opaque}
	case w.pattern && w.leading:
		return word{text, wild}
	case w.pattern || w.tilde:
		return word{text, inPath}
	}
	return word{text, plain}
}

// quoted shows a word in a sentence.
func quoted(text string) string {
	const limit = 60
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(text, "?"))
}

// write adds to the text. Variables that hold each other twice would double it with every assignment.
func (w *wording) write(text string) {
	if w.spend(len(text)) {
		w.text.WriteString(text)
	} else {
		w.opaque = true
	}
}

func (w *wording) part(part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		w.bare(part.Value)
	case *syntax.SglQuoted:
		if part.Dollar {
			w.opaque = true
			w.write(unescape(part.Value))
			return
		}
		w.write(part.Value)
	case *syntax.DblQuoted:
		w.opaque = w.opaque || part.Dollar
		for _, inner := range part.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				w.write(unquote(lit.Value))
				continue
			}
			w.part(inner)
		}
	case *syntax.ParamExp:
		w.opaque = true
		w.substitutions(part)
		w.write(w.variable(part))
	default: // substitutions, arithmetic, extended patterns
		w.opaque = true
		w.substitutions(part)
		w.write(w.asWritten(part))
	}
}

// bare takes an unquoted piece: here bash expands patterns, tildes and braces, and takes backslashes away.
func (w *wording) bare(value string) {
	if !w.spend(len(value)) {
		w.opaque = true
		return
	}
	closes := strings.LastIndexByte(value, ']')
	for i := 0; i < len(value); i++ {
		c := value[i]
		first := w.text.Len() == 0
		switch {
		case c == '\\' && i+1 < len(value):
			i++
			if c = value[i]; c == '\n' {
				continue
			}
		case c == '*', c == '?', c == '[' && i < closes, c == '[' && i+1 == len(value) && !first:
			w.pattern = true
			w.leading = w.leading || first || strings.HasPrefix(w.text.String(), "-")
		case c == '~' && (first || strings.HasSuffix(w.text.String(), "=") || strings.HasSuffix(w.text.String(), ":")):
			w.tilde = true
		case c == '{':
			w.brace = true
		}
		w.text.WriteByte(c)
	}
}

// unquote takes away the backslashes that mean something between double quotes.
func unquote(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) && strings.IndexByte("$`\"\\\n", value[i+1]) >= 0 {
			if i++; value[i] == '\n' {
				continue
			}
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

var escapes = regexp.MustCompile(`\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)`)

// unescape guesses what a $'…' hides, for deny rules.
func unescape(value string) string {
	return escapes.ReplaceAllStringFunc(value, func(escape string) string {
		digits, base := escape[2:], 16
		if escape[1] >= '0' && escape[1] <= '7' {
			digits, base = escape[1:], 8
		}
		if code, err := strconv.ParseUint(digits, base, 31); err == nil {
			return string(rune(code))
		}
		if plain, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'e': "\x1b"}[escape[1]]; ok {
			return plain
		}
		return escape[1:]
	})
}

// variable guesses the value of a variable: the value that the line assigned, or else its name as written.
func (w *wording) variable(exp *syntax.ParamExp) string {
	if exp.Param != nil {
		if value, ok := w.vars[exp.Param.Value]; ok {
			return value
		}
		if exp.Param.Value == "IFS" {
			return " "
		}
	}
	return w.asWritten(exp)
}

// substitutions walks through the commands that stand somewhere within a node.
func (r *reading) substitutions(node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		if !r.spend(1) {
			return false
		}
		switch node := node.(type) {
		case *syntax.CmdSubst:
			r.statements(node.Stmts)
			return false
		case *syntax.ProcSubst:
			r.statements(node.Stmts)
			return false
		}
		return true
	})
}

// asWritten is a node's own text.
func (r *reading) asWritten(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if from < 0 || to > len(r.source) || from > to {
		return "$?"
	}
	return r.source[from:to]
}
