package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
)

// SchemaRules are the demands of a vendor on a JSON Schema that it holds a model's answers to.
type SchemaRules struct {
	AllRequired bool // no property may be optional
	Recursive   bool // a schema may refer to itself
}

// Bounds of such a schema, the least that vendors name: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
const (
	maxSchemaBytes = 100_000
	maxSchemaDepth = 10
)

// Strict returns the schema in the form that vendors take, or nil if it cannot be written in that form. Objects are closed, and what vendors refuse
// to check, such as the length of a text, is left out: whoever asked for the answer checks it against the whole schema. No property is
// made required: the model would have to invent a value for it.
func (r SchemaRules) Strict(document json.RawMessage) json.RawMessage {
	root := gjson.ParseBytes(document)
	if len(document) > maxSchemaBytes || domain.TooDeep(document) || root.Get("type").Str != "object" || root.Get("anyOf").Exists() || root.Get("oneOf").Exists() {
		return nil
	}
	w := schemaWriter{rules: r, refs: map[string][]string{}}
	if !w.schema(root, 1) || (!r.Recursive && w.endless()) {
		return nil
	}
	return w.out.Bytes()
}

// schemaWriter writes a schema anew, with its properties in their order: a model writes them in it.
type schemaWriter struct {
	rules SchemaRules
	out   bytes.Buffer
	refs  map[string][]string // which definitions a definition refers to; the root is "#"
	in    string              // the definition that is written; empty = none
}

// schema writes a schema, and reports whether it can be written in the vendor's form.
func (w *schemaWriter) schema(s gjson.Result, depth int) bool {
	if !s.IsObject() || depth > maxSchemaDepth {
		return false
	}
	if ref := s.Get("$ref"); ref.Exists() { // what stands beside it only narrows
		return w.reference(ref.Str)
	}
	known, begun := s.Get("enum").Exists() || s.Get("const").Exists() || s.Get("anyOf").Exists() || s.Get("oneOf").Exists(), false
	kinds := typesOf(s.Get("type"))
	known = known || len(kinds) > 0
	w.out.WriteByte('{')
	fits := true
	s.ForEach(func(key, value gjson.Result) bool {
		name, keep := key.Str, true
		switch name {
		case "type", "enum", "const", "title", "description":
		case "properties", "items", "anyOf", "$defs", "definitions":
		case "required":
			keep = slices.Contains(kinds, "object")
		case "oneOf": // the other ways are checked by who asked
			name, fits = "anyOf", !s.Get("anyOf").Exists()
		case "additionalProperties":
			keep, fits = false, value.Type == gjson.False
		default:
			keep, fits = false, slices.Contains(leftOut, name)
		}
		if !fits || !keep {
			return fits
		}
		if begun {
			w.out.WriteByte(',')
		}
		begun = true
		w.out.Write(domain.Encode(name))
		w.out.WriteByte(':')
		fits = w.value(name, value, depth)
		return fits
	})
	if slices.Contains(kinds, "object") {
		fits = fits && w.closed(s)
		w.out.WriteString(`,"additionalProperties":false`)
	}
	w.out.WriteByte('}')
	return fits && known && (!slices.Contains(kinds, "array") || s.Get("items").IsObject())
}

// leftOut are the keywords that only narrow, or explain; vendors refuse some of them.
var leftOut = []string{
	"$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern", "minLength", "maxLength",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
	"contentEncoding", "contentMediaType",
}

func (w *schemaWriter) value(name string, value gjson.Result, depth int) bool {
	switch name {
	case "properties", "$defs", "definitions":
		return value.IsObject() && w.members(name, value, depth)
	case "items":
		return w.schema(value, depth+1)
	case "anyOf", "oneOf":
		return value.IsArray() && w.list(value, depth)
	default:
		w.out.WriteString(value.Raw)
		return true
	}
}

// members writes the properties of an object, or the definitions.
func (w *schemaWriter) members(name string, of gjson.Result, depth int) (fits bool) {
	fits = true
	if name != "properties" {
		defer func(before string) { w.in = before }(w.in)
		depth = 0 // where they are used, nobody counts
	}
	separator := byte('{')
	of.ForEach(func(key, value gjson.Result) bool {
		if name != "properties" {
			w.in = "#/" + name + "/" + key.Str
		}
		w.out.WriteByte(separator)
		separator = ','
		w.out.Write(domain.Encode(key.Str))
		w.out.WriteByte(':')
		fits = w.schema(value, depth+1)
		return fits
	})
	if separator == '{' {
		w.out.WriteByte('{')
	}
	w.out.WriteByte('}')
	return fits
}

func (w *schemaWriter) list(of gjson.Result, depth int) (fits bool) {
	separator := byte('[')
	of.ForEach(func(_, value gjson.Result) bool {
		w.out.WriteByte(separator)
		separator = ','
		fits = w.schema(value, depth+1)
		return fits
	})
	w.out.WriteByte(']')
	return fits
}

// closed reports whether vendors take an object: all its properties are named, and required where the vendor demands that.
func (w *schemaWriter) closed(s gjson.Result) bool {
	properties, required := map[string]bool{}, map[string]bool{}
	s.Get("properties").ForEach(func(key, _ gjson.Result) bool { properties[key.Str] = true; return true })
	s.Get("required").ForEach(func(_, name gjson.Result) bool { required[name.Str] = true; return true })
	for name := range required {
		if !properties[name] {
			return false
		}
	}
	if w.rules.AllRequired && len(required) != len(properties) {
		return false
	}
	return len(properties) > 0 || s.Get("additionalProperties").Type == gjson.False && s.Get("additionalProperties").Exists()
}

func (w *schemaWriter) reference(to string) bool {
	if to != "#" && !strings.HasPrefix(to, "#/$defs/") && !strings.HasPrefix(to, "#/definitions/") {
		return false
	}
	from := w.in
	if from == "" {
		from = "#"
	}
	w.refs[from] = append(w.refs[from], to)
	w.out.WriteString(`{"$ref":`)
	w.out.Write(domain.Encode(to))
	w.out.WriteByte('}')
	return true
}

// endless reports whether a definition refers to itself.
func (w *schemaWriter) endless() bool {
	open := map[string]bool{} // true while it is looked into
	var within func(name string) bool
	within = func(name string) bool {
		if looking, known := open[name]; known {
			return looking
		}
		open[name] = true
		if slices.ContainsFunc(w.refs[name], within) {
			return true
		}
		open[name] = false
		return false
	}
	for name := range w.refs {
		if within(name) {
			return true
		}
	}
	return false
}

// typesOf are the types that a schema names; it may have one, or a list.
func typesOf(of gjson.Result) (kinds []string) {
	if of.Type == gjson.String {
		return []string{of.Str}
	}
	for _, kind := range of.Array() {
		kinds = append(kinds, kind.Str)
	}
	return kinds
}
