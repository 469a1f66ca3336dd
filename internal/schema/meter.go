package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/regex"
)

const (
	allowance       = 3_000_000 // the most that a check may cost; a unit is some fifty nanoseconds
	maxPatternBytes = 1000
	maxPatternSize  = 5000 // instructions; x{1000} is one thousand of them
	stepsPerUnit    = 4    // instructions on one byte
	maxNumberBytes  = 400
)

// place names the document inside the compiler. Nothing can be loaded from such an address.
const place = "signoff:schema"

var errTooMuch = errors.New("schema: the check costs too much")

// meter counts the cost of a check. The library has no bound of its own, and a schema of twenty lines, each of which says
// "all of the next line, twice", keeps it busy for the rest of the day.
type meter struct {
	allowance, left int
}

// run checks within the allowance. There is no other way out of the library's recursion than a panic, which is caught
// here and nowhere else.
func (m *meter) run(check func() error) (err error) {
	m.left = m.allowance
	defer func() {
		switch stopped := recover(); stopped {
		case nil:
		case errTooMuch:
			err = errTooMuch
		default:
			panic(stopped)
		}
	}()
	return check()
}

func (m *meter) charge(cost int) {
	if m.left -= cost; m.left < 0 {
		panic(errTooMuch)
	}
}

// install charges each visit of a subschema. In all drafts, the library checks the format of a value before the subschemas, so the
// meter is a format.
func (m *meter) install(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{root: true}
	for queue := []*jsonschema.Schema{root}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		ours := strings.HasPrefix(s.Location, place)
		if ours && (s.DynamicRef != nil || s.RecursiveRef != nil) {
			return refused("The schema uses $dynamicRef or $recursiveRef, which are not supported here; use $ref.")
		}
		below := subschemas(s)
		m.meet(s, len(below))
		for _, next := range below {
			if !seen[next] {
				seen[next], queue = true, append(queue, next)
			}
		}
	}
	return nil
}

func (m *meter) meet(s *jsonschema.Schema, subschemas int) {
	weight := 1 + subschemas + len(s.Required)
	deep := s.UniqueItems || s.Enum != nil || s.Const != nil // compares whole values
	if s.Enum != nil {
		weight += len(s.Enum.Values)
	}
	format := s.Format
	metered := jsonschema.Format{Validate: func(v any) error {
		m.charge(weight + sizeOf(v, deep))
		if format != nil {
			return format.Validate(v)
		}
		return nil
	}}
	if format != nil {
		metered.Name = format.Name
	}
	s.Format = &metered
}

// sizeOf is the work to look at a value.
func sizeOf(value any, deep bool) int {
	size := 1
	switch v := value.(type) {
	case string:
		return size + len(v)/64
	case []any:
		size += len(v)
		for i := 0; deep && i < len(v); i++ {
			size += sizeOf(v[i], deep)
		}
	case map[string]any:
		size += len(v)
		if deep {
			for _, member := range v {
				size += sizeOf(member, deep)
			}
		}
	}
	return size
}

// subschemas are the schemas that s names in its fields. There are thirty such fields, in eight shapes.
func subschemas(s *jsonschema.Schema) (found []*jsonschema.Schema) {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if fields.Type().Field(i).IsExported() {
			found = append(found, schemasIn(fields.Field(i))...)
		}
	}
	return found
}

func schemasIn(value reflect.Value) (found []*jsonschema.Schema) {
	switch value.Kind() {
	case reflect.Interface:
		return schemasIn(value.Elem())
	case reflect.Pointer:
		if s, is := value.Interface().(*jsonschema.Schema); is && s != nil {
			return []*jsonschema.Schema{s}
		}
	case reflect.Slice:
		for i := range value.Len() {
			found = append(found, schemasIn(value.Index(i))...)
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			found = append(found, schemasIn(entries.Value())...)
		}
	default:
	}
	return found
}

// pattern compiles a regular expression whose use is charged.
func (m *meter) pattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPatternBytes {
		return nil, errors.New("schema: a pattern is too long")
	}
	compiled, err := regex.Compile(text, maxPatternSize)
	return &pattern{compiled, m}, err
}

type pattern struct {
	*regex.Regexp
	meter *meter
}

func (p *pattern) MatchString(text string) bool {
	p.meter.charge(1 + p.Cost(len(text))/stepsPerUnit)
	return p.Regexp.MatchString(text)
}

// flawOf says why a value is too costly to check: it is too deep, or has a number like 1e900000, which the library would write
// out in full.
func flawOf(value any, depth int) string {
	if depth == 0 {
		return "it is nested too deeply"
	}
	switch v := value.(type) {
	case json.Number:
		if !plain(v) {
			return "a number is too large or too long"
		}
	case []any:
		for _, item := range v {
			if flaw := flawOf(item, depth-1); flaw != "" {
				return flaw
			}
		}
	case map[string]any:
		for _, member := range v {
			if flaw := flawOf(member, depth-1); flaw != "" {
				return flaw
			}
		}
	}
	return ""
}

func plain(number json.Number) bool {
	text := string(number)
	if len(text) > maxNumberBytes {
		return false
	}
	_, exponent, written := strings.Cut(strings.ToLower(text), "e")
	if !written {
		return true
	}
	digits := strings.TrimLeft(exponent, "+-0")
	return len(digits) < 3 || len(digits) == 3 && digits <= "400"
}
