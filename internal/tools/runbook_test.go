package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func book(blocks string) domain.Runbook {
	return domain.Runbook{
		Document: &domain.Document{Revision: "r7", Blocks: json.RawMessage(blocks)}, InsertAfter: "b1", DefaultShell: "fish",
		BlockTypes: []domain.BlockType{
			{Type: "script", Description: "Runs a script.", Docs: "Give the code.", PropsSchema: json.RawMessage(`{"type": "object", "required": ["code"]}`)},
			{Type: "paragraph"},
		},
	}
}

func read(t *testing.T, tool tools.Tool, host domain.Host, arguments string) tools.Result {
	t.Helper()
	return tool.Run(t.Context(), host, domain.ToolCall{ID: "c", Arguments: json.RawMessage(arguments)})
}

func TestGetRunbookDocument(t *testing.T) {
	host := &hosttest.Host{Book: book(`[{"id": "b1",
		"type": "script"}, {"id": "b2"}, 3]`)}
	const head = "Revision `r7`. 3 blocks. New blocks are wanted behind the block with the id `b1`.\n"
	for arguments, want := range map[string]string{
		`{}`:                        head + `1: {"id":"b1","type":"script"}` + "\n" + `2: {"id":"b2"}` + "\n3: 3\n",
		`{"offset": 3}`:             head + "3: 3\n",
		`{"offset": 2, "limit": 1}`: head + `2: {"id":"b2"}` + "\n[… 1 block more. Go on with the offset 3.]",
		`{"offset": 4}`:             head[:len(head)-1] + "\nThere is no block number 4.",
	} {
		if result := read(t, tools.GetRunbookDocument{}, host, arguments); result.Output != want {
			t.Errorf("%s: %q", arguments, result.Output)
		}
	}
}

// TestALongDocumentIsReadInParts: all of it can be read, and no part is too long for a model.
func TestALongDocumentIsReadInParts(t *testing.T) {
	block := `{"text":"` + strings.Repeat("ü", 5000) + `"}`
	host := &hosttest.Host{Book: book("[" + strings.Repeat(block+",", 9) + `{"text":"` + strings.Repeat("x", 1<<20) + `"}` + "]")}
	seen, offset := 0, `{"offset": 1}`
	for range 10 {
		result := read(t, tools.GetRunbookDocument{}, host, offset)
		if len(result.Output) > 34<<10 {
			t.Fatalf("%d bytes", len(result.Output))
		}
		seen += strings.Count(result.Output, block)
		_, next, more := strings.Cut(result.Output, "Go on with the offset ")
		if !more {
			if !strings.Contains(result.Output, "bytes left out here") {
				t.Error("the block that is too long lost nothing")
			}
			break
		}
		offset = `{"offset": ` + strings.TrimSuffix(next, ".]") + `}`
	}
	if seen != 9 {
		t.Errorf("saw %d blocks", seen)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	host := &hosttest.Host{}
	for tool, want := range map[tools.Tool]string{
		tools.GetRunbookDocument{}: "(there is no document: this execution was started without one)",
		tools.GetBlockDocs{}:       "(no types of blocks are known: this execution was started without any)",
		tools.GetDefaultShell{}:    "(the shell is not known; write what every POSIX shell understands)",
	} {
		if result := read(t, tool, host, `{}`); result.Output != want || result.Failure != nil {
			t.Errorf("%+v", result)
		}
	}
	odd := &hosttest.Host{Book: domain.Runbook{Document: &domain.Document{Blocks: json.RawMessage(`{}`)}}}
	if result := read(t, tools.GetRunbookDocument{}, odd, `{}`); result.Failure == nil {
		t.Errorf("%+v", result)
	}
}

func TestGetBlockDocs(t *testing.T) {
	host := &hosttest.Host{Book: book(`[]`)}
	const script = "# script\n\nRuns a script.\n\nGive the code.\n\nThe JSON Schema of its props:\n\n```json\n{\n  \"type\": \"object\",\n  \"required\": [\n    \"code\"\n  ]\n}\n```\n\n"
	const paragraph = "# paragraph\n\nIts props are not described.\n\n"
	for arguments, want := range map[string]string{
		`{}`:                                 script + paragraph,
		`{"types": ["paragraph"]}`:           paragraph,
		`{"types": ["script", "none"]}`:      "There is no type of block called `none`. The types are: script, paragraph.",
		`{"types": ["paragraph", "script"]}`: paragraph + script,
	} {
		if result := read(t, tools.GetBlockDocs{}, host, arguments); result.Output != want {
			t.Errorf("%s: %q", arguments, result.Output)
		}
	}
	if result := read(t, tools.GetDefaultShell{}, host, `{}`); result.Output != "fish" {
		t.Errorf("%+v", result)
	}
}

func TestLongBlockDocs(t *testing.T) {
	host := &hosttest.Host{Book: domain.Runbook{BlockTypes: []domain.BlockType{
		{Type: "a", Description: "The first.", Docs: strings.Repeat("a", 60<<10)}, {Type: "b", Docs: strings.Repeat("b", 60<<10)},
	}}}
	for arguments, want := range map[string]string{
		`{}`:                    "Ask for the types that you need by name:\n\n- a: The first.\n- b\n",
		`{"types": ["a"]}`:      "bytes left out here",
		`{"types": ["a", "b"]}`: "[Left out: b. Ask for these by themselves.]",
	} {
		if result := read(t, tools.GetBlockDocs{}, host, arguments); !strings.Contains(result.Output, want) || len(result.Output) > 34<<10 {
			t.Errorf("%s: %d bytes, %.300q", arguments, len(result.Output), result.Output)
		}
	}
}

func compiledTypes(t *testing.T) *runbooks.Types {
	t.Helper()
	types, err := runbooks.Compile(book(`[]`).BlockTypes)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestSubmitBlocksSaysWhatIsWrong(t *testing.T) {
	tool := tools.SubmitBlocks{Types: compiledTypes(t)}
	if !strings.Contains(string(tool.Definition().Schema), `"enum":["script","paragraph"]`) {
		t.Errorf("the schema has no types: %s", tool.Definition().Schema)
	}
	intent, err := tool.Check(json.RawMessage(`{"blocks": [{"type": "paragraph", "props": {}}]}`), "")
	if err != nil || intent.Summary != "Hand in 1 block: `paragraph`" {
		t.Errorf("%+v, %v", intent, err)
	}
	_, err = tool.Check(json.RawMessage(`{"blocks": [{"type": "script", "props": {}}]}`), "")
	var told *domain.Error
	if !errors.As(err, &told) || told.Code != domain.CodeInvalidArguments ||
		told.Message != "The blocks cannot be used. Mend these places and hand in all blocks again:\n- /blocks/0/props: missing property 'code'" {
		t.Errorf("%v", err)
	}
	if _, err = tool.Check(json.RawMessage(`{}`), ""); err == nil {
		t.Error("blocks may be missing")
	}
}

func declared() domain.ClientTool {
	return domain.ClientTool{
		Name: "openPanel", Description: "Opens a panel.", Class: domain.ClassRead,
		Schema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`),
	}
}

func TestClientTool(t *testing.T) {
	tool, err := tools.NewClientTool(declared())
	if err != nil {
		t.Fatal(err)
	}
	intent, err := tool.Check(json.RawMessage(`{"name": "logs"}`), "")
	if err != nil || intent.Summary != "Have the client run `openPanel` with `{\"name\": \"logs\"}`" {
		t.Errorf("%+v, %v", intent, err)
	}
	for arguments, want := range map[string]string{
		`{}`:                         "- missing property 'name'",
		`{"name": 5}`:                "- /name: got number, want string",
		`{"name": "a", "name": "b"}`: "The field `name` is there twice.",
		`{"name": "a", "x": [{"y": 1, "y": {}}]}`:    "The field `y` is there twice.",
		`{"name": "a", "x": [{"y": 1}, {"y": "y"}]}`: "",
		`{"name": `: "not valid JSON",
		`7`:         "got number, want object",
	} {
		_, err := tool.Check(json.RawMessage(arguments), "")
		if want == "" && err != nil || want != "" && (domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if result := tool.Run(context.Background(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"name": "a"}`)}); result.Failure == nil {
		t.Error("it ran here")
	}
}

func TestAChangedClientToolHasAnotherVersion(t *testing.T) {
	versions := map[string]bool{}
	for _, change := range []func(*domain.ClientTool){
		func(*domain.ClientTool) {},
		func(d *domain.ClientTool) { d.Description += "!" },
		func(d *domain.ClientTool) { d.Class = domain.ClassWrite },
		func(d *domain.ClientTool) { d.Schema = json.RawMessage(`{"type": "object"}`) },
	} {
		changed := declared()
		change(&changed)
		tool, err := tools.NewClientTool(changed)
		if err != nil {
			t.Fatal(err)
		}
		versions[tool.Definition().Version] = true
	}
	if len(versions) != 4 {
		t.Errorf("%v", versions)
	}
}

// TestAClientToolReadBackHasTheSameVersion: a request with blanks in a schema could never be approved, since its session and the database
// had two versions of the tool.
func TestAClientToolReadBackHasTheSameVersion(t *testing.T) {
	sent := domain.Request{ClientTools: []domain.ClientTool{declared()}}
	sent.ClientTools[0].Schema = json.RawMessage("{\n  \"type\": \"object\", \"description\": \"a < b\"\n}")
	var read domain.Request
	if err := json.Unmarshal(sent.Marshal(), &read); err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, tool := range append(sent.ClientTools, read.ClientTools...) {
		made, err := tools.NewClientTool(tool)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, made.Definition().Version)
	}
	if versions[0] != versions[1] {
		t.Errorf("as sent and as read back: %q", versions)
	}
}

func TestClientToolsThatAreRefused(t *testing.T) {
	for pointer, change := range map[string]func(*domain.ClientTool){
		"/name":        func(d *domain.ClientTool) { d.Name = "open panel" },
		"/description": func(d *domain.ClientTool) { d.Description = " " },
		"/class":       func(d *domain.ClientTool) { d.Class = "root" },
		"/schema":      func(d *domain.ClientTool) { d.Schema = json.RawMessage(`{"type": "string"}`) },
	} {
		changed := declared()
		change(&changed)
		_, err := tools.NewClientTool(changed)
		var told *domain.Error
		if !errors.As(err, &told) || told.Code != domain.CodeInvalid || told.Details[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, err)
		}
	}
}

func TestDocumentToolsKnowTheTypes(t *testing.T) {
	for _, tool := range tools.DocumentTools(compiledTypes(t)) {
		if tool.Definition().Class != domain.ClassWrite {
			t.Errorf("%s has the class %s", tool.Definition().Name, tool.Definition().Class)
		}
		bad := map[string]string{
			"insert_blocks":  `{"blocks": [{"type": "script", "props": {}}]}`,
			"update_block":   `{"id": "", "props": {"a": 1}}`,
			"replace_blocks": `{"ids": ["a"], "blocks": [{"type": "none", "props": {}}]}`,
		}
		if _, err := tool.Check(json.RawMessage(bad[tool.Definition().Name]), ""); domain.CodeOf(err) != domain.CodeInvalidArguments {
			t.Errorf("%s: %v", tool.Definition().Name, err)
		}
		masked := map[string]string{
			"insert_blocks":  `{"blocks": [{"type": "paragraph", "props": {"a": "key=[masked]"}}]}`,
			"update_block":   `{"id": "b", "props": {"a": "key=[masked]"}}`,
			"replace_blocks": `{"ids": ["a"], "blocks": [{"type": "paragraph", "props": {"a": "key=[masked]"}}]}`,
		}
		if _, err := tool.Check(json.RawMessage(masked[tool.Definition().Name]), ""); err == nil || !strings.Contains(err.Error(), "a secret was hidden from you") {
			t.Errorf("%s: a secret may be lost: %v", tool.Definition().Name, err)
		}
		if tool.Definition().Name == "replace_blocks" {
			if _, err := tool.Check(json.RawMessage(`{"ids": ["a"], "blocks": [ ]}`), ""); err != nil {
				t.Errorf("nothing can be deleted: %v", err)
			}
		}
	}
}
