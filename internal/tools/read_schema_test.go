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
	tests := []struct{ name, arguments, want string }{
		{"list", `{}`, "environment: what your commands and file tools see of the machine\nAny\nRun: A run\nStep: One step of a runbook.\nWide\n"},
		{"null", `{"name":null,"pointer":""}`, "environment: what your commands and file tools see of the machine\nAny\nRun"},
		{"environment", `{"name":"environment"}`, "You see /work."},
		{"part of the environment", `{"name":"environment","pointer":"/a"}`, "There is no schema called `environment`."},
		{"whole, in its order", `{"name":"Step"}`, "{\n  \"type\": \"object\",\n  \"description\""},
		{"boolean", `{"name":"Any"}`, "true"},
		{"part", `{"name":"Step","pointer":"/properties/a"}`, "{\n  \"enum\": ["},
		{"escaped part", `{"name":"Step","pointer":"/properties/z~1n~01"}`, "{\n  \"type\": \"integer\"\n}"},
		{"of a list", `{"name":"Step","pointer":"#/properties/a/enum/1/deep"}`, "true"},
		{"unknown name", `{"name":"step"}`, "There is no schema called `step`. The schemas are: Any, Run, Step, Wide."},
		{"unknown part", `{"name":"Step","pointer":"/properties/b"}`, "There is no `b` at that place of the schema. There are: a, z/n~1."},
		{"below a word", `{"name":"Step","pointer":"/type/x"}`, "There is no `x` at that place of the schema. Nothing with a name is there."},
		{"behind a list", `{"name":"Step","pointer":"/properties/a/enum/2"}`, "There is no `2`"},
		{"before a list", `{"name":"Step","pointer":"/properties/a/enum/-1"}`, "There is no `-1`"},
		{"no pointer", `{"name":"Step","pointer":"properties"}`, "The field \"pointer\" must begin with a slash"},
		{"pointer into nothing", `{"pointer":"/a"}`, "The field \"pointer\" needs the \"name\""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := tool.Run(t.Context(), &hosttest.Host{Around: "You see /work."}, domain.ToolCall{Arguments: json.RawMessage(test.arguments)})
			if !strings.HasPrefix(result.Output, test.want) || result.Truncated {
				t.Errorf("got %.300q", result.Output)
			}
			if (result.Failure != nil) != strings.HasPrefix(test.want, "The") {
				t.Errorf("failure %v", result.Failure)
			}
		})
	}
	result := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"name":"Wide"}`)})
	if !result.Truncated || len(result.Output) > 36<<10 || !strings.Contains(result.Output, "Ask for a part with a pointer. There are: field0, field1, field10,") {
		t.Errorf("%d bytes, ending with %q", len(result.Output), result.Output[32<<10:])
	}
}

// readSchema is the tool with schemas that are at hand.
func readSchema(schemas map[string]json.RawMessage) *tools.ReadSchema {
	return tools.NewReadSchema(func() (map[string]json.RawMessage, error) { return schemas, nil })
}

func TestReadSchemaWithoutSchemas(t *testing.T) {
	result := readSchema(nil).Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{}`)})
	if !strings.HasSuffix(result.Output, "\n(there are no schemas)") {
		t.Errorf("got %+v", result)
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
		result := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{}`)})
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
		`{}`: "List the schemas",
		`{"name":"Step\n","pointer":"/properties"}`: "Look up the schema `Step⏎/properties`",
	} {
		if got, err := readSchema(nil).Check(json.RawMessage(arguments), "/srv"); err != nil || got.Summary != want {
			t.Errorf("got %q, %v", got.Summary, err)
		}
	}
}
