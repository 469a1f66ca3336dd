package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/llm/provider"
	"signoff/internal/schema"
)

func TestStrictSchemas(t *testing.T) {
	all, some := provider.SchemaRules{AllRequired: true, Recursive: true}, provider.SchemaRules{}
	deep := `{"type":"string"}`
	for range 10 {
		deep = `{"type":"object","properties":{"a":` + deep + `},"required":["a"]}`
	}
	const same = "same"
	for name, test := range map[string]struct{ document, all, some string }{
		"an object is closed": {
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","b"]}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`, same},
		"within others, too": {
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}}},"required":["l"]}`,
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"],"additionalProperties":false}}},"required":["l"],"additionalProperties":false}`, same},
		"what vendors do not check is left out": {
			`{"$schema":"x","type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"d"},"s":{"enum":["a",1]}},"required":["n","s"],"additionalProperties":false}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"d"},"s":{"enum":["a",1]}},"required":["n","s"],"additionalProperties":false}`, same},
		"oneOf": {
			`{"type":"object","properties":{"v":{"oneOf":[{"type":"null"},{"const":2}]}},"required":["v"]}`,
			`{"type":"object","properties":{"v":{"anyOf":[{"type":"null"},{"const":2}]}},"required":["v"],"additionalProperties":false}`, same},
		"definitions": {
			`{"type":"object","properties":{"v":{"$ref":"#/$defs/d"}},"required":["v"],"$defs":{"d":{"type":"string"}}}`,
			`{"type":"object","properties":{"v":{"$ref":"#/$defs/d"}},"required":["v"],"$defs":{"d":{"type":"string"}},"additionalProperties":false}`, same},
		"nothing": {`{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`, same},
		"a schema within itself": {
			`{"type":"object","properties":{"v":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["v"]}`,
			`{"type":"object","properties":{"v":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["v"],"additionalProperties":false}`, ""},
		"a definition within itself": {
			`{"type":"object","properties":{"v":{"$ref":"#/$defs/d"}},"required":["v"],"$defs":{"d":{"type":"array","items":{"$ref":"#/$defs/d"}}}}`,
			`{"type":"object","properties":{"v":{"$ref":"#/$defs/d"}},"required":["v"],"$defs":{"d":{"type":"array","items":{"$ref":"#/$defs/d"}}},"additionalProperties":false}`, ""},
		"an optional property": {`{"type":"object","properties":{"a":{"type":"string"}}}`, "",
			`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		"an open object":        {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, "", ""},
		"a map":                 {`{"type":"object","properties":{"m":{"type":"object"}},"required":["m"]}`, "", ""},
		"anything":              {`{"type":"object","properties":{"a":{}},"required":["a"]}`, "", ""},
		"a boolean":             {`{"type":"object","properties":{"a":true},"required":["a"]}`, "", ""},
		"a list of anything":    {`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"]}`, "", ""},
		"a list":                {`{"type":"array","items":{"type":"string"}}`, "", ""},
		"a choice at the root":  {`{"type":"object","anyOf":[{"type":"object"}]}`, "", ""},
		"a keyword that counts": {`{"type":"object","properties":{"a":{"type":"string","not":{"const":"x"}}},"required":["a"]}`, "", ""},
		"required, and unknown": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`, "", ""},
		"a foreign reference":   {`{"type":"object","properties":{"a":{"$ref":"#/properties/b"}},"required":["a"]}`, "", ""},
		"too deep":              {deep, "", ""},
		"too long":              {`{"type":"object","description":"` + strings.Repeat("x", 100_000) + `","properties":{"a":{"type":"string"}},"required":["a"]}`, "", ""},
		"not one":               {`true`, "", ""},
	} {
		if test.some == same {
			test.some = test.all
		}
		for _, with := range []struct {
			rules provider.SchemaRules
			want  string
		}{{all, test.all}, {some, test.some}} {
			got := with.rules.Strict(json.RawMessage(test.document))
			if string(got) != with.want {
				t.Errorf("%s, %+v:\n got %s\nwant %s", name, with.rules, got, with.want)
			}
			if got == nil {
				continue
			}
			if _, err := schema.Compile(got); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
