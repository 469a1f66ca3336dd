package runbooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

func some(t *testing.T) *runbooks.Types {
	t.Helper()
	types, err := runbooks.Compile([]domain.BlockType{
		{Type: "script", PropsSchema: json.RawMessage(`{"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}, "additionalProperties": false}`)},
		{Type: "paragraph"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestCheckBlocks(t *testing.T) {
	for blocks, want := range map[string][]domain.Detail{
		`[{"type": "script", "props": {"code": "ls"}}, {"type": "paragraph", "props": {"any": 1}, "id": "p"}]`: nil,
		``:                                       {{Message: "the list of blocks is missing"}},
		`null`:                                   {{Message: "this is null; give a list of blocks"}},
		`[]`:                                     {{Message: "the list is empty; hand in at least one block"}},
		`"[{\"type\": 1}]"`:                      {{Message: "this is a string; give the list of blocks itself, not its JSON as text"}},
		`{"type": "paragraph"}`:                  {{Message: "this is an object; give a list of blocks, also where there is only one"}},
		`["text"]`:                               {{Pointer: "/0", Message: `this is a string; a block is an object such as {"type": "script", "props": {}}`}},
		`[null]`:                                 {{Pointer: "/0", Message: `this is null; a block is an object such as {"type": "script", "props": {}}`}},
		`[{"type": "paragraph"}]`:                {{Pointer: "/0/props", Message: "props is missing; give an object, {} where there is nothing to say"}},
		`[{"type": "paragraph", "props": "{}"}]`: {{Pointer: "/0/props", Message: "props is a string; give the object itself, not its JSON as text"}},
		`[{"type": "paragraph", "props": []}]`:   {{Pointer: "/0/props", Message: "props is a list; it must be an object"}},
		`[{"props": {}}]`:                        {{Pointer: "/0/type", Message: "the type is missing; the types are: script, paragraph"}},
		`[{"type": 5, "props": {}}]`:             {{Pointer: "/0/type", Message: "the type is a number; it must be a string; the types are: script, paragraph"}},
		`[{"type": "Script", "props": {}}]`:      {{Pointer: "/0/type", Message: `there is no block type "Script"; the types are: script, paragraph`}},
		`[{"type": "script", "props": {"cod": "ls"}}]`: {
			{Pointer: "/0/props", Message: "additional properties 'cod' not allowed"}, {Pointer: "/0/props", Message: "missing property 'code'"},
		},
		`[{"type": "paragraph", "props": {}, "content": "x"}]`:        nil,
		`[{"type": "paragraph", "props": {}, "id": ""}]`:              {{Pointer: "/0/id", Message: "the id must be a string that is not empty; leave it out for a new block"}},
		`[{"type": "script", "props": {"code": "ls"}, "code": "ls"}]`: {{Pointer: "/0", Message: `"code" stands beside props; it belongs into them`}},
		"[" + strings.Repeat(`{},`, 100) + "{}]":                      {{Message: "the list has 101 blocks; at most 100 are allowed"}},
	} {
		if diff := cmp.Diff(want, some(t).CheckBlocks(json.RawMessage(blocks))); diff != "" {
			t.Errorf("%.100s:\n%s", blocks, diff)
		}
	}
}

func TestMistakesInBlocksAreBounded(t *testing.T) {
	blocks := "[" + strings.Repeat(`{"type": "`+strings.Repeat("x", 5000)+`"},`, 60) + `{"` + strings.Repeat("y", 5000) + `": 1}]`
	details := some(t).CheckBlocks(json.RawMessage(blocks))
	if len(details) != 21 {
		t.Errorf("%d places", len(details))
	}
	for _, detail := range details {
		if len(detail.Message) > 400 {
			t.Errorf("%d bytes", len(detail.Message))
		}
	}
}

func TestWithoutTypesAnyTypeGoes(t *testing.T) {
	types, err := runbooks.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	if details := types.CheckBlocks(json.RawMessage(`[{"type": "whatever", "props": {}}]`)); details != nil {
		t.Error(details)
	}
	if details := types.CheckBlocks(json.RawMessage(`[{"type": "", "props": {}}]`)); len(details) != 1 {
		t.Error(details)
	}
}

func TestMerge(t *testing.T) {
	merged := runbooks.Merge(
		[]domain.BlockType{{Type: "b", Docs: "request"}, {Type: "c"}},
		[]domain.BlockType{{Type: "a"}, {Type: "b", Docs: "registry"}},
	)
	if diff := cmp.Diff([]domain.BlockType{{Type: "b", Docs: "request"}, {Type: "c"}, {Type: "a"}}, merged); diff != "" {
		t.Error(diff)
	}
}

func TestTypesThatAreRefused(t *testing.T) {
	many := make([]domain.BlockType, 201)
	for i := range many {
		many[i].Type = fmt.Sprint("t", i)
	}
	for want, list := range map[string][]domain.BlockType{
		"":               many,
		"/0/type":        {{Type: "two words"}},
		"/1/type":        {{Type: "a"}, {Type: "a"}},
		"/0/description": {{Type: "a", Description: strings.Repeat("d", 1001)}},
		"/0/docs":        {{Type: "a", Docs: strings.Repeat("d", 64<<10+1)}},
		"/0/propsSchema": {{Type: "a", PropsSchema: json.RawMessage(`{"$ref": "https://a.example"}`)}},
	} {
		_, err := runbooks.Compile(list)
		var told *domain.Error
		if !errors.As(err, &told) || told.Code != domain.CodeInvalid || told.Details[0].Pointer != want {
			t.Errorf("%s: %v", want, err)
		}
	}
}
