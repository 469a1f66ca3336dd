package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"signoff/internal/llm/provider"
)

// schemaSupport is when a vendor holds an answer to a schema. A server that constrains all that its model writes leaves it no way to call
// a tool.
type schemaSupport int

const (
	schemaNever schemaSupport = iota // or nobody knows
	schemaAlone                      // in requests without tools
	schemaAlways
	schemaGemini // alone; with tools since Gemini 3
)

// withTools finds the models of Gemini that take a schema beside tools.
var withTools = regexp.MustCompile(`gemini-([3-9]|\d\d)`)

// schema returns the rules for a schema. Those of OpenAI are the strictest, and those who copy its API copy them.
func (v vendor) schema(model provider.Model, tools bool) *provider.SchemaRules {
	switch {
	case v.schemas == schemaNever,
		tools && v.schemas == schemaAlone,
		tools && v.schemas == schemaGemini && !withTools.MatchString(strings.ToLower(model.Model)):
		return nil
	}
	return &provider.SchemaRules{AllRequired: v.schemas != schemaGemini, Recursive: v.schemas == schemaAlways}
}

// formatOf is the format of an answer that is held to a schema.
func formatOf(schema json.RawMessage) openai.ChatCompletionNewParamsResponseFormatUnion {
	return openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Strict: param.NewOpt(true), Schema: schema},
	}}
}
