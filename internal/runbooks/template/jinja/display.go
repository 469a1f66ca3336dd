package jinja

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notation is a way to write values.
type notation struct {
	none         string
	text         func(out *buffer, s string)
	float        func(f float64) string
	comma, colon string
	step         string // how far to indent by, where each element has a line of its own
	trailing     bool   // a comma stands behind the last element, too
	json         bool
}

var (
	printed  = &notation{none: "none", text: writeQuoted, float: displayFloat, comma: ", ", colon: ": "}
	pretty   = &notation{none: "none", text: writeQuoted, float: displayFloat, comma: ",", colon: ": ", step: "    ", trailing: true}
	compact  = &notation{none: "null", text: writeJSONString, float: jsonFloat, comma: ",", colon: ":", json: true}
	indented = &notation{none: "null", text: writeJSONString, float: jsonFloat, comma: ",", colon: ": ", step: "  ", json: true}
)

// display is how a value is printed.
func (r *run) display(value any) string {
	if s, ok := unmarked(value).(string); ok {
		return s
	}
	return r.written(printed, value)
}

func (r *run) written(n *notation, value any) string {
	out := &buffer{Budget: r.Budget}
	r.write(out, n, value, "\n")
	return out.text.String()
}

// print writes a value as {{ value }} does: a text without its quotes.
func (r *run) print(out *buffer, value any) {
	if s, ok := unmarked(value).(string); ok {
		out.add(s)
		return
	}
	r.write(out, printed, value, "")
}

func (r *run) write(out *buffer, n *notation, value any, margin string) {
	r.allocate(textSize)
	switch v := unmarked(value).(type) {
	case nil:
		out.add(n.none)
	case bool:
		out.add(strconv.FormatBool(v))
	case int:
		out.add(strconv.Itoa(v))
	case float64:
		out.add(n.float(v))
	case bigNumber:
		out.add(string(v))
	case string:
		n.text(out, v)
	case *undefined:
		v.fail()
	case *namespace:
		r.write(out, n, v.dict(r), margin)
	case *dict:
		r.writeAll(out, n, v.values, v.keys, margin)
	case *sequence:
		if v.iterator && !n.json {
			out.add("<iterator>")
			return
		}
		r.writeAll(out, n, v.items, nil, margin)
	case []any:
		r.writeAll(out, n, v, nil, margin)
	default:
		if n.json {
			failf("%s cannot be written as JSON", title(v))
		}
		out.add(fmt.Sprint(v))
	}
}

func (m *macro) String() string    { return "<macro " + m.name + ">" }
func (f *function) String() string { return "<function " + f.name + ">" }
func (l *loop) String() string     { return fmt.Sprintf("<loop %d/%d>", l.index, len(l.items)) }

// writeAll writes a list, or a map where there are keys.
func (r *run) writeAll(out *buffer, n *notation, values, keys []any, margin string) {
	r.enter()
	defer r.leave()
	brackets, inner := "[]", margin
	if keys != nil {
		brackets = "{}"
	}
	if n.step != "" {
		r.allocate(len(margin) + len(n.step))
		inner += n.step
	}
	out.add(brackets[:1])
	for i, value := range values {
		if i > 0 {
			out.add(n.comma)
		}
		if n.step != "" {
			out.add(inner)
		}
		if keys != nil {
			r.writeKey(out, n, keys[i])
			out.add(n.colon)
		}
		r.write(out, n, value, inner)
	}
	if n.step != "" && len(values) > 0 {
		if n.trailing {
			out.add(n.comma)
		}
		out.add(margin)
	}
	out.add(brackets[1:])
}

// writeKey writes the key of a map: a text in JSON.
func (r *run) writeKey(out *buffer, n *notation, key any) {
	if _, isText := unmarked(key).(string); n.json && !isText {
		if number := asNumber(key); title(number) != "a number" {
			failf("%s cannot be a key in JSON", title(key))
		}
		key = r.display(key)
	}
	r.write(out, n, key, "")
}

// quote writes a text between quotes. escape gives what stands for a character, or nothing where it stands for itself.
func quote(out *buffer, s string, escape func(c rune) string) {
	out.add(`"`)
	written := 0
	for i, c := range s {
		if escaped := escape(c); escaped != "" {
			out.add(s[written:i])
			out.add(escaped)
			_, size := utf8.DecodeRuneInString(s[i:])
			written = i + size
		}
	}
	out.add(s[written:])
	out.add(`"`)
}

var quoted = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// writeQuoted is Rust's way of quoting, which has other escapes than Go's.
func writeQuoted(out *buffer, s string) {
	quote(out, s, func(c rune) string {
		switch {
		case c == 0:
			return `\0`
		case !unicode.IsPrint(c) && quoted[c] == "":
			out.allocate(textSize)
			return fmt.Sprintf(`\u{%x}`, c)
		}
		return quoted[c]
	})
}

// inJSON are the characters that JSON has to escape, what HTML might mistake, and what is no UTF-8.
var inJSON = map[rune]string{utf8.RuneError: "\uFFFD"}

func init() {
	for c := range ' ' {
		inJSON[c] = fmt.Sprintf(`\u%04x`, c)
	}
	for _, c := range "<>&'" {
		inJSON[c] = fmt.Sprintf(`\u%04x`, c)
	}
	maps.Copy(inJSON, quoted)
	maps.Copy(inJSON, map[rune]string{'\b': `\b`, '\f': `\f`})
}

func writeJSONString(out *buffer, s string) {
	quote(out, s, func(c rune) string { return inJSON[c] })
}

func displayFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	written := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.Contains(written, ".") {
		return written
	}
	return written + ".0"
}

func jsonFloat(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "null"
	case size >= 1e16 || size < 1e-5 && size > 0:
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e+", "e", 1)
	}
	return displayFloat(f)
}
