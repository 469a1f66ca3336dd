package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/api"
	"signoff/internal/domain"
)

// broken is a value that breaks one rule of a schema. An error about it points to one place.
type broken struct {
	rule    string
	value   any
	pointer string
}

// sample returns a value that fits a schema, with every property except those of requests only.
func sample(schema *openapi3.Schema) any {
	switch {
	case len(schema.AllOf) > 0:
		return sample(schema.AllOf[0].Value)
	case len(schema.OneOf) > 0:
		return sample(schema.OneOf[len(schema.OneOf)-1].Value)
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type.Is("object"):
		object := map[string]any{}
		for name, property := range schema.Properties {
			if !property.Value.WriteOnly { // no event has it
				object[name] = sample(property.Value)
			}
		}
		if of := schema.AdditionalProperties.Schema; of != nil {
			object["a"] = sample(of.Value)
		}
		return object
	case schema.Type.Is("array"):
		return slices.Repeat([]any{sample(schema.Items.Value)}, int(max(1, schema.MinItems)))
	case schema.Type.Is("boolean"):
		return true
	case schema.Type.Is("integer") || schema.Type.Is("number"):
		if schema.Min != nil {
			return *schema.Min + 1
		}
		return 1
	case schema.Format == "date-time" || strings.HasPrefix(schema.Pattern, "^[0-9]{4}-"):
		return "2999-01-01T00:00:00Z"
	}
	return strings.Repeat("a", int(max(1, schema.MinLength)))
}

// breaks returns values that break each rule of a schema, once each.
func breaks(schema *openapi3.Schema, at string) (all []broken) {
	if len(schema.AllOf) > 0 {
		return breaks(schema.AllOf[0].Value, at)
	}
	if len(schema.OneOf) > 0 {
		return slices.DeleteFunc(breaks(schema.OneOf[len(schema.OneOf)-1].Value, at), func(b broken) bool {
			return b.pointer == at && schema.VisitJSON(b.value) == nil // another alternative
		})
	}
	add := func(rule string, value any) { all = append(all, broken{rule, value, at}) }
	if schema.Type == nil {
		return nil
	}
	if !schema.Nullable {
		add("null", nil)
	}
	if schema.Type.Is("string") {
		add("type", 7)
	} else {
		add("type", "x")
	}
	switch {
	case schema.Type.Is("object"):
		return append(all, breaksOfObject(schema, at)...)
	case schema.Type.Is("array"):
		item := sample(schema.Items.Value)
		if schema.MinItems > 0 {
			add("minItems", []any{})
		}
		if schema.MaxItems != nil {
			add("maxItems", slices.Repeat([]any{item}, int(*schema.MaxItems)+1))
		}
		if schema.UniqueItems {
			add("uniqueItems", []any{item, item})
		}
		for _, b := range breaks(schema.Items.Value, at+"/0") {
			all = append(all, broken{b.rule, []any{b.value}, b.pointer})
		}
	case schema.Type.Is("integer") || schema.Type.Is("number"):
		add("boolean", true)
		if schema.Type.Is("integer") {
			add("fraction", 1.5)
			add("beyond int64", json.Number("99999999999999999999"))
		}
		add("beyond float64", json.Number("1e400"))
		if schema.ExclusiveMin.IsTrue() {
			add("exclusiveMinimum", *schema.Min)
		}
		if schema.Min != nil {
			add("minimum", *schema.Min-1)
		}
		if schema.Max != nil {
			add("maximum", *schema.Max+1)
		}
	case schema.Type.Is("string"):
		for _, text := range badTexts(schema) {
			add("text", text)
		}
		add("NUL", "a\x00")
	}
	return all
}

func breaksOfObject(schema *openapi3.Schema, at string) (all []broken) {
	full := sample(schema).(map[string]any)
	with := func(name string, value any) map[string]any {
		object := maps.Clone(full)
		object[name] = value
		return object
	}
	if has := schema.AdditionalProperties.Has; has != nil && !*has {
		all = append(all, broken{"unknown field", with("noSuchField", 1), at + "/noSuchField"})
	}
	for _, name := range schema.Required {
		object := maps.Clone(full)
		delete(object, name)
		all = append(all, broken{"required", object, at + "/" + name})
	}
	if schema.MinProps > 0 {
		all = append(all, broken{"minProperties", map[string]any{}, at})
	}
	of := schema.AdditionalProperties.Schema
	if schema.MaxProps != nil && of != nil {
		object := map[string]any{}
		for i := range *schema.MaxProps + 1 {
			object[fmt.Sprint(i)] = sample(of.Value)
		}
		all = append(all, broken{"maxProperties", object, at})
	}
	properties := maps.Clone(schema.Properties)
	if of != nil {
		properties = openapi3.Schemas{"a": of}
	}
	for name, property := range properties {
		for _, b := range breaks(property.Value, at+"/"+name) {
			all = append(all, broken{b.rule, with(name, b.value), b.pointer})
		}
	}
	return all
}

// badTexts returns texts that break the rules of a schema for strings.
func badTexts(schema *openapi3.Schema) (texts []string) {
	if len(schema.Enum) > 0 {
		texts = append(texts, "noSuchValue")
	}
	if schema.MinLength > 0 {
		texts = append(texts, "")
	}
	if schema.MaxLength != nil {
		texts = append(texts, strings.Repeat("a", int(*schema.MaxLength)+1))
	}
	if schema.Format == "date-time" {
		texts = append(texts, "tomorrow", "2999-02-30T00:00:00Z")
	}
	if pattern := schema.Pattern; pattern != "" {
		for _, text := range []string{" ", "A b", "é", "-1", "1.5", strings.Repeat("a", 300), strings.Repeat("9", 300)} {
			if !regexp.MustCompile(pattern).MatchString(text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// bodies calls do for each operation with a JSON body.
func bodies(t testing.TB, do func(method, path string, schema *openapi3.Schema)) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Requests)
	must(t, err)
	for pattern, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil || operation.RequestBody.Value.Content[typeJSON] == nil {
				continue
			}
			_, path := concrete(method + " " + pattern)
			do(method, path, operation.RequestBody.Value.Content[typeJSON].Schema.Value)
		}
	}
}

// TestEveryRuleOfTheDocumentHoldsForBodies breaks each rule of each field of each body, one at a time.
func TestEveryRuleOfTheDocumentHoldsForBodies(t *testing.T) {
	h := newTestServer(t)
	tried := map[string]int{}
	bodies(t, func(method, path string, schema *openapi3.Schema) {
		fits := domain.Encode(sample(schema))
		var value any
		must(t, json.Unmarshal(fits, &value))
		if err := schema.VisitJSON(value); err != nil {
			t.Fatalf("%s %s: the sample %s: %v", method, path, fits, err)
		}
		for _, b := range breaks(schema, "") {
			tried[b.rule]++
			a := h.serve(method, path, domain.Encode(b.value)).problem(422, domain.CodeInvalid)
			pointer := "none"
			for i := range a.count("errors") { // of alternatives, the whole is wrong, too
				if pointer = a.text("errors", fmt.Sprint(i), "pointer"); !strings.HasPrefix(b.pointer, pointer) {
					t.Errorf("%s %s: %s at %s: %.500s", method, path, b.rule, b.pointer, a.body)
				}
			}
			if pointer != b.pointer {
				t.Errorf("%s %s: %s at %s: %.500s", method, path, b.rule, b.pointer, a.body)
			}
		}
	})
	for _, rule := range []string{
		"null", "type", "unknown field", "required", "minProperties", "maxProperties", "minItems", "maxItems", "uniqueItems", "fraction", "boolean",
		"beyond int64", "beyond float64", "minimum", "exclusiveMinimum", "maximum", "text", "NUL",
	} {
		if tried[rule] == 0 {
			t.Errorf("nothing breaks the rule %s: %v", rule, tried)
		}
	}
}

// TestEveryRuleOfTheDocumentHoldsForParameters breaks each rule of each parameter, one at a time. A cursor is malformed, all else is invalid.
func TestEveryRuleOfTheDocumentHoldsForParameters(t *testing.T) {
	h := newTestServer(t)
	document, err := openapi3.NewLoader().LoadFromData(api.Requests)
	must(t, err)
	for pattern, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			_, path := concrete(method + " " + pattern)
			if operation.Security == nil { // a public route answers strangers
				h.wrong(badInput{pattern, "", 422, domain.CodeInvalid, "noSuchParameter"}, h.ask(method, path+"?noSuchParameter=1", ""))
			}
			for _, parameter := range slices.Concat(item.Parameters, operation.Parameters) {
				p := parameter.Value
				for _, text := range badParameters(p) {
					row := badInput{fmt.Sprintf("%s %s with %s=%q", method, pattern, p.Name, text), "", 422, domain.CodeInvalid, p.Name}
					if p.Name == "cursor" || p.Name == "after" || p.Name == "Last-Event-ID" {
						row.status, row.code = 400, domain.CodeMalformed
					}
					if p.In == "query" {
						h.wrong(row, h.ask(method, path+"?"+p.Name+"="+text, ""))
					} else {
						h.wrong(row, h.ask(method, path, "", p.Name, text))
					}
				}
			}
		}
	}
}

// badParameters returns values of a query, escaped, or of a header.
func badParameters(p *openapi3.Parameter) (all []string) {
	schema := p.Schema.Value
	if p.In == "path" {
		return nil // an id that cannot be one is 404, as TestAnotherTenantsThingsDoNotExist shows
	}
	if schema.Type.Is("array") {
		schema = schema.Items.Value
	}
	for _, text := range badTexts(schema) {
		if p.In == "query" {
			all = append(all, url.QueryEscape(text))
		} else if text != "" && text != " " { // net/http removes these
			all = append(all, text)
		}
	}
	if p.In == "header" {
		return all
	}
	if !p.Schema.Value.Type.Is("array") {
		all = append(all, fmt.Sprintf("1&%s=1", p.Name)) // twice
	}
	switch {
	case schema.Type.Is("integer"):
		all = append(all, "", "x", "1.0", "%2B1", "99999999999999999999", fmt.Sprint(*schema.Min-1), fmt.Sprint(*schema.Max+1))
	case schema.Type.Is("boolean"):
		all = append(all, "", "1", "TRUE")
	}
	return append(all, "%00", "%ff")
}
