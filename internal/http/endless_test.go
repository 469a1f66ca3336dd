package http

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

func TestSchemasThatNothingFits(t *testing.T) {
	h := newHouse(t)
	for name, schema := range map[string]string{
		"itself":                    `{"$ref":"#"}`,
		"itself in a branch":        `{"allOf":[{"$ref":"#"}]}`,
		"itself among others":       `{"type":"object","anyOf":[{"type":"object"},{"not":{"$ref":"#/anyOf/1"}}]}`,
		"two that refer in circles": `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b~1c"},"b/c":{"oneOf":[{"$ref":"#/%24defs/a"}]}}}`,
		"itself as a condition":     `{"if":{"$ref":"#"}}`,
		"no value":                  `{"enum":[]}`,
		"not anything":              `{"not":{}}`,
		"not what is":               `{"not":true}`,
	} {
		body := `{` + valid + `,"outputSchema":` + schema + `}`
		h.wrong(badInput{name, body, 422, domain.CodeInvalid, "/outputSchema"}, h.ask("POST", "/executions", body))
	}
	tool := clientTools(strings.Replace(aTool, `"schema":{`, `"schema":{"$ref":"#",`, 1))
	h.wrong(badInput{"of a tool", tool, 422, domain.CodeInvalid, "/clientTools/0/schema"}, h.ask("POST", "/executions", tool))
	block := aGeneration("x")
	block = strings.Replace(block, `"propsSchema":{`, `"propsSchema":{"$ref":"#",`, 1)
	h.wrong(badInput{"of a block", block, 422, domain.CodeInvalid, "/blockTypes/0/propsSchema"}, h.ask("POST", "/executions", block))
}

func TestSchemasThatLeadBackByWayOfAPart(t *testing.T) {
	h := newHouse(t)
	for _, schema := range []string{
		`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object","additionalProperties":{"$ref":"#"}}}}`,
		`{"not":{"type":"null"},"enum":[{}]}`,
	} {
		h.ask("POST", "/executions", `{`+valid+`,"outputSchema":`+schema+`}`).want(201)
	}
}
