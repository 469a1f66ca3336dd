package jinja

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
	d := &decoder{r, jsontext.NewDecoder(bytes.NewBuffer(source), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	v = Variables{d.value().(*dict)}
	v.openOutputs()
	return v, nil
}

// openOutputs opens the outputs of blocks, doc.named[…].output: a template asks for what a block may have said, such as its error, and must not fail where
// the block ended otherwise.
func (v Variables) openOutputs() {
	doc, _ := v.dict.field("doc").(*dict)
	named, _ := doc.field("named").(*dict)
	if named == nil {
		return
	}
	for _, block := range named.values {
		block, _ := block.(*dict)
		if output, is := block.field("output").(*dict); is {
			output.open = true
		}
	}
}

// field is the value of a key; nil where it has none, or there is no dict.
func (d *dict) field(name string) any {
	if d == nil {
		return nil
	}
	if i := slices.Index(d.keys, any(name)); i >= 0 {
		return d.values[i]
	}
	return nil
}

// decoder reads JSON that is known to be valid. encoding/json would allocate three times as much, before anybody could charge it.
type decoder struct {
	*run
	tokens *jsontext.Decoder
}

func (d *decoder) value() any {
	d.step(1)
	switch d.tokens.PeekKind() {
	case '{', '[':
		return d.elements()
	case '"':
		return d.text()
	}
	written, _ := d.tokens.ReadValue()
	switch written[0] {
	case 'n':
		return nil
	case 't', 'f':
		return written[0] == 't'
	}
	d.allocate(textSize + 2*len(written))
	return parseNumber(string(written))
}

func (d *decoder) text() any {
	quoted, _ := d.tokens.ReadValue()
	d.allocate(textSize + len(quoted))
	if utf8.Valid(quoted) && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	d.allocate(callSize + 2*len(quoted))
	var s string
	_ = json.Unmarshal(quoted, &s)
	return s
}

// elements reads a list or an object.
func (d *decoder) elements() any {
	d.enter()
	defer d.leave()
	opening, _ := d.tokens.ReadToken()
	isList := opening.Kind() == '['
	d.allocate(listSize)
	keys, values := []any{}, []any{}
	for d.tokens.PeekKind() != ']' && d.tokens.PeekKind() != '}' {
		if !isList {
			keys = append(d.grow(keys), d.text())
		}
		values = append(d.grow(values), d.value())
	}
	_, _ = d.tokens.ReadToken()
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
