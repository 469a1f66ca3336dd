package jinja

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Variables are the variables of a template.
type Variables struct{ dict *dict }

// Decode reads variables, which are a JSON object, or nothing at all. Numbers keep their form: 1 stays 1, and 1.0 stays 1.0.
func Decode(source json.RawMessage, budget *Budget) (v Variables, err error) {
	r := &run{Budget: budget}
	defer catch(&r.line, &err)
	if source = bytes.TrimSpace(source); len(source) == 0 {
		source = []byte("{}")
	}
	r.scan(len(source))
	if source[0] != '{' || !json.Valid(source) {
		failf("the variables are not a JSON object")
	}
	d := &decoder{r, source}
	return Variables{d.value().(*dict)}, nil
}

// decoder reads JSON that is known to be valid. encoding/json would allocate three times as much, before anybody could charge it.
type decoder struct {
	*run
	rest []byte
}

// next is the first character of what comes, behind white space and what separates values.
func (d *decoder) next() byte {
	d.rest = bytes.TrimLeft(d.rest, " \t\r\n,:")
	return d.rest[0]
}

// take reads so many bytes.
func (d *decoder) take(n int) []byte {
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) value() any {
	d.step(1)
	switch d.next() {
	case '{', '[':
		return d.elements()
	case '"':
		return d.text()
	case 't':
		return len(d.take(4)) > 0
	case 'f':
		return len(d.take(5)) == 0
	case 'n':
		d.take(4)
		return nil
	}
	length := bytes.IndexFunc(d.rest, func(r rune) bool { return !strings.ContainsRune("+-.eE0123456789", r) })
	d.allocate(textSize + 2*length)
	return parseNumber(string(d.take(length)))
}

func (d *decoder) text() any {
	end := 1
	for ; d.rest[end] != '"'; end++ {
		if d.rest[end] == '\\' {
			end++
		}
	}
	quoted := d.take(end + 1)
	d.allocate(textSize + len(quoted))
	if utf8.Valid(quoted) && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:end])
	}
	d.allocate(callSize + 2*len(quoted))
	var s string
	_ = json.Unmarshal(quoted, &s) // it is valid
	return s
}

// elements reads a list or an object.
func (d *decoder) elements() any {
	d.enter()
	defer d.leave()
	isList := d.take(1)[0] == '['
	d.allocate(listSize)
	keys, values := []any{}, []any{}
	for d.next() != ']' && d.rest[0] != '}' {
		if !isList {
			keys = append(d.grow(keys), d.text())
		}
		values = append(d.grow(values), d.value())
	}
	d.take(1)
	if isList {
		return values
	}
	return d.newDict(keys, values)
}

func parseNumber(written string) any {
	switch {
	case len(written) > 400: // Go's errors would repeat it
		return bigNumber(written)
	case !strings.ContainsAny(written, ".eE"):
		if whole, err := strconv.Atoi(written); err == nil {
			return whole
		}
	default:
		if broken, err := strconv.ParseFloat(written, 64); err == nil {
			return broken
		}
	}
	return bigNumber(written)
}

// toJSON keeps numbers as they are displayed, and the order of keys; as MiniJinja it writes what HTML might mistake as
// escapes.
func toJSON(c *call) any {
	n := compact
	if width, isNumber := c.argument(0).(int); isNumber {
		wide := *indented
		wide.step, n = strings.Repeat(" ", min(max(width, 0), 100)), &wide
	} else if c.flag(0) {
		n = indented
	}
	return safe(c.written(n, c.in))
}
