package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func TestReadSchema(t *testing.T) {
	var wide strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&wide, `"field%d": {"type": "string"},`, i)
	}
	tool := readSchema(map[string]json.RawMessage{
		"Step": json.RawMessage(`{"type": "object", "description": "One step\nof a runbook.",
			"properties": {"z/n~1": {"type": "integer"}, "a": {"enum": ["x", {"deep": true}]}}}`),
		"Run":  json.RawMessage(`{"title": "A run", "type": "object"}`),
		"Wide": json.RawMessage(`{` + wide.String() + `"äöü": {}}`),
		"Any":  json.RawMessage(`true`),
	})
	runbook := domain.Runbook{BlockTypes: []domain.BlockType{
		{Type: "script", Description: "A shell\nscript.", PropsSchema: json.RawMessage(`{"type": "object", "properties": {"code": {"type": "string"}}}`)},
		{Type: "Step", PropsSchema: json.RawMessage(`{"title": "of the runbook"}`)},
		{Type: "free"},
		{Type: "environment", PropsSchema: json.RawMessage(`{"title": "a block"}`)},
	}}
	tests := []struct{ name, arguments, want string }{
		{"list", `{}`, "The block types of the runbook:\nscript: A shell script.\nStep\nfree\nenvironment\nBesides, by name:\n" +
			"environment: what your commands and file tools see of the machine\nThe types of the API of this service are listed with {\"scope\": \"service\"}."},
		{"null", `{"name":null,"pointer":"","scope":null}`, "The block types of the runbook:\nscript"},
		{"list of the runbook", `{"scope":"runbook"}`, "The block types of the runbook:\nscript"},
		{"block type", `{"name":"script"}`, "{\n  \"type\": \"object\",\n  \"properties\""},
		{"part of a block type", `{"name":"script","pointer":"/properties/code"}`, "{\n  \"type\": \"string\"\n}"},
		{"no part of a block type", `{"name":"script","pointer":"/b"}`, "There is no `b` at that place of the schema. There are: properties, type."},
		{"block type before a type of the service", `{"name":"Step"}`, "{\n  \"title\": \"of the runbook\"\n}"},
		{"block type without a schema", `{"name":"free"}`, "The block type `free` has no schema: its props may be any JSON object."},
		{"part of no schema", `{"name":"free","pointer":"/a"}`, "The block type `free` has no schema: its props may be any JSON object."},
		{"no block type", `{"name":"Run"}`, "There is no block type called `Run`. The block types are: script, Step, free, environment. The types of the API of this service are listed"},
		{"environment", `{"name":"environment"}`, "You see /work."},
		{"block type called environment", `{"name":"environment","scope":"runbook"}`, "{\n  \"title\": \"a block\"\n}"},
		{"list of the service", `{"scope":"service"}`, "Any\nRun: A run\nStep: One step of a runbook.\nWide\n"},
		{"no environment of the service", `{"name":"environment","scope":"service"}`, "The service has no type called `environment`."},
		{"whole, in its order", `{"name":"Step","scope":"service"}`, "{\n  \"type\": \"object\",\n  \"description\""},
		{"boolean", `{"name":"Any","scope":"service"}`, "true"},
		{"part", `{"name":"Step","pointer":"/properties/a","scope":"service"}`, "{\n  \"enum\": ["},
		{"escaped part", `{"name":"Step","pointer":"/properties/z~1n~01","scope":"service"}`, "{\n  \"type\": \"integer\"\n}"},
		{"of a list", `{"name":"Step","pointer":"#/properties/a/enum/1/deep","scope":"service"}`, "true"},
		{"unknown name", `{"name":"step","scope":"service"}`, "The service has no type called `step`. Its types are: Any, Run, Step, Wide."},
		{"unknown part", `{"name":"Step","pointer":"/properties/b","scope":"service"}`, "There is no `b` at that place of the schema. There are: a, z/n~1."},
		{"below a word", `{"name":"Step","pointer":"/type/x","scope":"service"}`, "There is no `x` at that place of the schema. Nothing with a name is there."},
		{"behind a list", `{"name":"Step","pointer":"/properties/a/enum/2","scope":"service"}`, "There is no `2`"},
		{"before a list", `{"name":"Step","pointer":"/properties/a/enum/-1","scope":"service"}`, "There is no `-1`"},
		{"no pointer", `{"name":"Step","pointer":"properties","scope":"service"}`, "The field \"pointer\" must begin with a slash"},
		{"pointer into nothing", `{"pointer":"/a"}`, "The field \"pointer\" needs the \"name\""},
		{"no scope", `{"scope":"all"}`, "The field \"scope\" must be \"runbook\" or \"service\"."},
	}
	succeeds := map[string]bool{"list": true, "null": true, "list of the runbook": true, "block type without a schema": true}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := &hosttest.Host{Around: "You see /work.", Book: runbook}
			result := tool.Run(t.Context(), host, domain.ToolCall{Arguments: json.RawMessage(test.arguments)})
			if !strings.HasPrefix(result.Output, test.want) || result.Truncated {
				t.Errorf("got %.300q", result.Output)
			}
			if (result.Failure != nil) != (strings.HasPrefix(test.want, "The") && !succeeds[test.name]) {
				t.Errorf("failure %v", result.Failure)
			}
		})
	}
	result := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"name":"Wide","scope":"service"}`)})
	if !result.Truncated || len(result.Output) > 36<<10 || !strings.Contains(result.Output, "Ask for a part with a pointer. There are: field0, field1, field10,") {
		t.Errorf("%d bytes, ending with %q", len(result.Output), result.Output[32<<10:])
	}
}

// readSchema is the tool with schemas that are at hand.
func readSchema(schemas map[string]json.RawMessage) *tools.ReadSchema {
	return tools.NewReadSchema(func() (map[string]json.RawMessage, error) { return schemas, nil })
}

// TestReadSchemaWithoutBlockTypes: the model is told that there are none, and how it gets the service's types; it never gets those in their place.
func TestReadSchemaWithoutBlockTypes(t *testing.T) {
	tool := readSchema(map[string]json.RawMessage{"Step": json.RawMessage(`{}`)})
	const none = "The runbook of this execution has brought no block types. The types of the API of this service are listed with {\"scope\": \"service\"}."
	for arguments, want := range map[string]string{
		`{}`:              none + "\nBesides, by name:\nenvironment: what your commands and file tools see of the machine\n",
		`{"name":"Step"}`: "There is no block type called `Step`. " + none,
	} {
		if got := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(arguments)}); got.Output != want {
			t.Errorf("%s: %q", arguments, got.Output)
		}
	}
	if got := readSchema(nil).Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"scope":"service"}`)}); got.Output != "(there are no schemas)" {
		t.Errorf("%q", got.Output)
	}
}

func TestReadSchemaReadsOnceAndLate(t *testing.T) {
	reads := 0
	tool := tools.NewReadSchema(func() (map[string]json.RawMessage, error) {
		reads++
		return nil, errors.New("the document is broken at line 7")
	})
	if _, err := tool.Check(json.RawMessage(`{"name":"Step"}`), "/srv"); err != nil || reads != 0 {
		t.Errorf("the schemas were read %d times before the tool ran: %v", reads, err)
	}
	for range 2 {
		result := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"scope":"service"}`)})
		if result.Failure == nil || result.Output != "The schemas cannot be read." {
			t.Errorf("got %+v", result)
		}
	}
	if reads != 1 {
		t.Errorf("the schemas were read %d times", reads)
	}
}

func TestReadSchemaSummaries(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                  "List the block types of the runbook",
		`{"scope":"service"}`: "List the types of the service",
		`{"name":"Step\n","pointer":"/properties"}`:                   "Look up the block type `Step⏎/properties`",
		`{"name":"Step\n","pointer":"/properties","scope":"service"}`: "Look up the type of the service `Step⏎/properties`",
		`{"name":"environment"}`:                                      "Look up what is visible in the environment",
	} {
		if got, err := readSchema(nil).Check(json.RawMessage(arguments), "/srv"); err != nil || got.Summary != want {
			t.Errorf("got %q, %v", got.Summary, err)
		}
	}
}
