package tools_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/tools"
)

// compiled fails the test where the text is no JSON Schema.
func compiled(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:schema", decode(t, string(schema))); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	ready, err := compiler.Compile("test:schema")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return ready
}

func formSchema(t *testing.T, arguments string) *jsonschema.Schema {
	t.Helper()
	raw, err := tools.AskUser{}.Form(json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		Message string
		Schema  json.RawMessage
	}
	if err := json.Unmarshal(raw, &form); err != nil || strings.TrimSpace(form.Message) == "" {
		t.Fatalf("the form is %s: %v", raw, err)
	}
	return compiled(t, form.Schema)
}

func decode(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
