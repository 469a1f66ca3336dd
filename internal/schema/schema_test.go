package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

func compile(t *testing.T, document string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(document))
	if err != nil {
		t.Fatalf("%.200s: %v", document, err)
	}
	return s
}

func TestCheckNamesThePlaces(t *testing.T) {
	s := compile(t, `{
		"type": "object", "required": ["name"], "additionalProperties": false,
		"properties": {
			"name": {"type": "string", "pattern": "^[a-z]+$"},
			"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
			"level": {"enum": ["low", "high"]}
		},
		"$defs": {"row": {"allOf": [{"type": "integer", "minimum": 1}]}}
	}`)
	for value, want := range map[string][]domain.Detail{
		`{"name": "a", "rows": [1, 2.0], "level": "low"}`: nil,
		`{}`:                                {{Message: "missing property 'name'"}},
		`[]`:                                {{Message: "got array, want object"}},
		`{"name": "A"}`:                     {{Pointer: "/name", Message: "'A' does not match pattern '^[a-z]+$'"}},
		`{"name": "a", "rows": [0,"x"]}`:    {{Pointer: "/rows/0", Message: "minimum: got 0, want 1"}, {Pointer: "/rows/1", Message: "got string, want integer"}},
		`{"name": "a", "level": 3}`:         {{Pointer: "/level", Message: "value must be one of 'low', 'high'"}},
		`{"name": "a", "a/b": 3}`:           {{Message: "additional properties 'a/b' not allowed"}},
		`{"name": "a"`:                      {{Message: "this is not valid JSON"}},
		`{"name": "a"} {}`:                  {{Message: "this is not valid JSON"}},
		`{"name": "a", "rows": [1e999999]}`: {{Message: "a number is too large or too long"}},
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000): {{Message: "it is nested too deeply"}},
	} {
		if diff := cmp.Diff(want, s.Check(json.RawMessage(value))); diff != "" {
			t.Errorf("%.100s:\n%s", value, diff)
		}
	}
}

func TestDetailsAreBounded(t *testing.T) {
	var allowed, values []string
	for i := range 500 {
		allowed, values = append(allowed, fmt.Sprintf("%q", strings.Repeat("v", 20)+fmt.Sprint(i))), append(values, `"`+strings.Repeat("\u202e", 200)+`"`)
	}
	s := compile(t, `{"items": {"enum": [`+strings.Join(allowed, ",")+`]}}`)
	details := s.Check(json.RawMessage(`[` + strings.Join(values, ",") + `]`))
	if len(details) != 21 || details[20].Message != "480 more places are wrong" {
		t.Errorf("%d places: %v", len(details), details[len(details)-1])
	}
	for _, detail := range details {
		if len(detail.Message) > 310 {
			t.Errorf("a message of %d bytes", len(detail.Message))
		}
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for what, c := range map[string]struct{ document, message string }{
		"no JSON":             {`{"type":`, "not valid JSON"},
		"no schema":           {`{"type": 5}`, "no JSON Schema: at \"/type\""},
		"a list":              {`[]`, "no JSON Schema"},
		"another document":    {`{"$ref": "file:///etc/passwd"}`, "another document"},
		"a page":              {`{"$ref": "https://a.example/schema"}`, "another document"},
		"a foreign draft":     {`{"$schema": "https://a.example/draft"}`, "another document"},
		"nothing there":       {`{"$ref": "#/$defs/none"}`, "cannot be resolved"},
		"a broken pattern":    {`{"pattern": "("}`, "pattern"},
		"a look-ahead":        {`{"pattern": "(?=a)"}`, "pattern"},
		"a long pattern":      {`{"pattern": "` + strings.Repeat("a", 1001) + `"}`, "pattern"},
		"a large pattern":     {`{"pattern": "` + strings.Repeat("a{999}", 20) + `"}`, "pattern"},
		"a dynamic reference": {`{"$dynamicAnchor": "a", "properties": {"x": {"$dynamicRef": "#a"}}}`, "$dynamicRef"},
		"a huge number":       {`{"minimum": 1e900000}`, "number"},
		"too deep":            {strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200), "deeply"},
		"too long":            {`{"description": "` + strings.Repeat("a", 257<<10) + `"}`, "bytes"},
	} {
		_, err := schema.Compile(json.RawMessage(c.document))
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(domain.FailureOf(err).Message, c.message) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSchemasThatReferToThemselvesForTheSameValue(t *testing.T) {
	for name, document := range map[string]string{
		"itself":                    `{"$ref":"#"}`,
		"itself in a branch":        `{"allOf":[{"$ref":"#"}]}`,
		"itself among others":       `{"type":"object","anyOf":[{"type":"object"},{"not":{"$ref":"#/anyOf/1"}}]}`,
		"two that refer in circles": `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b~1c"},"b/c":{"oneOf":[{"$ref":"#/%24defs/a"}]}}}`,
		"itself as a condition":     `{"if":{"$ref":"#"}}`,
		"itself by a name":          `{"$anchor":"a","allOf":[{"$ref":"#a"}]}`,
	} {
		_, err := schema.Compile(json.RawMessage(document))
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(domain.FailureOf(err).Message, "refers to itself") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, document := range []string{
		`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object","additionalProperties":{"$ref":"#"}}}}`,
		`{"not":{"type":"null"},"enum":[{}]}`,
	} {
		if compiled, err := schema.Compile(json.RawMessage(document)); err != nil || compiled.Check(json.RawMessage(`{}`)) != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

// TestSchemasThatNothingFits: they are well formed, and to refuse every value costs no more than other checks.
func TestSchemasThatNothingFits(t *testing.T) {
	for _, document := range []string{`{"enum":[]}`, `{"not":{}}`, `{"not":true}`, `{"allOf":[{"type":"null"},{"type":"object"}]}`} {
		compiled, err := schema.Compile(json.RawMessage(document))
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"null", "true", "0", `""`, "[]", "{}"} {
			if compiled.Check(json.RawMessage(value)) == nil {
				t.Errorf("%s fits %s", value, document)
			}
		}
	}
}

func TestOfObject(t *testing.T) {
	for document, want := range map[string]bool{
		`{"type": "object"}`:                   true,
		`{"type": "\u006fbject"}`:              true,
		`{"type": ["object"]}`:                 false,
		`{"Type": "object"}`:                   false,
		`{"type": "string", "TYPE": "object"}`: false,
		`{}`:                                   false,
		`true`:                                 false,
		`[]`:                                   false,
		`{"type":`:                             false,
	} {
		if got := schema.OfObject(json.RawMessage(document)); got != want {
			t.Errorf("%s: %v", document, got)
		}
	}
}

func TestACheckAfterOneThatWasGivenUp(t *testing.T) {
	s := compile(t, `{"pattern": "(a|aa|aaa){300}b"}`)
	if details := s.Check(json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)); len(details) != 1 || !strings.Contains(details[0].Message, "too much work") {
		t.Error(details)
	}
	if details := s.Check(json.RawMessage(`7`)); details != nil {
		t.Error(details)
	}
}

func TestFormatsStillCount(t *testing.T) {
	s := compile(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "format": "ipv4"}`)
	if s.Check(json.RawMessage(`"10.0.0.1"`)) != nil || s.Check(json.RawMessage(`"ten"`)) == nil {
		t.Error("the format is not looked at")
	}
}

func TestAnswer(t *testing.T) {
	const value = `{"rows": 3}`
	deepest := strings.Repeat("[", domain.MaxDepth) + strings.Repeat("]", domain.MaxDepth)
	for text, want := range map[string]string{
		value:                         value,
		" \n" + value + "\n":          value,
		"```json\n" + value + "\n```": value,
		"Here it is:\n\n```\n" + value + "\n```\nSo": value,
		"```json\n" + value:                          value,
		`"text with ` + "``` in it" + `"`:            `"text with ` + "``` in it" + `"`,
		"```json\n[\"```\"]\n```":                    "[\"```\"]",
		"null":                                       "null",
		"":                                           "",
		"three rows":                                 "",
		value + value:                                "",
		"```\n1\n```\n```\n2\n```":                   "",
		"```\nthree\n```":                            "",
		"\xff":                                       "",
		deepest:                                      deepest,
		"[" + deepest + "]":                          "",
		"```\n[" + deepest + "]\n```":                "",
	} {
		got, err := schema.Answer(text)
		if string(got) != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		if want == "" && domain.CodeOf(err) != domain.CodeOutputInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}
