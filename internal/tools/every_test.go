package tools_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

const childID = "01890000-0000-7000-8000-000000000001"

// every tool, with arguments that use each property of its schema.
func every(t *testing.T) map[tools.Tool]string {
	t.Helper()
	search, err := tools.NewWebSearch(tools.SearchConfig{Provider: "searxng", URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[tools.Tool]string{
		tools.Bash{}:        `{"command": "ls", "timeoutSeconds": 5, "hosts": ["a.example"], "secrets": ["TOKEN"]}`,
		tools.Read{}:        `{"path": "a", "offset": 1, "limit": 2}`,
		tools.List{}:        `{"path": "a", "depth": 2, "pattern": "*.go"}`,
		tools.Search{}:      `{"pattern": "a", "path": ".", "glob": "*.go", "ignoreCase": true, "contextLines": 1, "maxResults": 5}`,
		tools.Edit{}:        `{"path": "a", "oldText": "x", "newText": "y", "replaceAll": true}`,
		tools.Patch{}:       `{"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"}`,
		tools.Write{}:       `{"path": "a", "content": "x"}`,
		tools.Think{}:       `{"thought": "so"}`,
		tools.AskUser{}:     `{"question": "Which?", "options": ["a", "b"], "multiple": true}`,
		tools.MemoryRead{}:  `{"scope": "runbook"}`,
		tools.MemoryWrite{}: `{"scope": "global", "content": "x", "mode": "replace", "revision": 3}`,
		tools.WebFetch{}:    `{"url": "http://127.0.0.1:1", "maxBytes": 2048}`,
		search:              `{"query": "x"}`,
		readSchema(map[string]json.RawMessage{"Step": json.RawMessage(`{"type": "object"}`)}): `{"name": "Step", "pointer": "/type", "scope": "service"}`,
		tools.GetRunbookDocument{}: `{"offset": 1, "limit": 5}`,
		tools.GetBlockDocs{}:       `{"types": ["script"]}`,
		tools.GetDefaultShell{}:    `{}`,
		tools.SubmitBlocks{}:       `{"blocks": [{"type": "script", "props": {}}]}`,
		tools.NewDelegate(): `{"profile": "", "source": {"type": "acp", "command": "opencode", "mode": "plan"}, "prompt": "Look.", "context": "items", "capabilities": {"network": "ask", "write": "allow"},
			"tools": ["read"], "environment": "machine", "write": true, "budget": {"tokens": 9, "cost": 0.5, "toolCalls": 3, "seconds": 60},
			"outputSchema": {"type": "object"}, "wait": false}`,
		tools.AwaitDelegates{}:  `{"ids": ["` + childID + `"], "mode": "any"}`,
		tools.MessageDelegate{}: `{"id": "` + childID + `", "prompt": "Go on.", "wait": false}`,
		tools.CancelDelegate{}:  `{"id": "` + childID + `", "reason": "Nobody needs it."}`,
	}
	for _, tool := range tools.DocumentTools(nil) {
		all[tool] = map[string]string{
			"insert_blocks":  `{"blocks": [{"type": "script", "props": {}}], "after": "a"}`,
			"update_block":   `{"id": "a", "props": {"code": "ls"}}`,
			"replace_blocks": `{"ids": ["a"], "blocks": [{"type": "script", "props": {}}]}`,
		}[tool.Definition().Name]
	}
	return all
}

// TestEveryToolIsListed: a type with a Definition that every does not have would be tested by none of these tests.
func TestEveryToolIsListed(t *testing.T) {
	listed := map[string]bool{}
	for tool := range every(t) {
		listed[reflect.Indirect(reflect.ValueOf(tool)).Type().Name()] = true
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			method, is := declared.(*ast.FuncDecl)
			if !is || method.Recv == nil || method.Name.Name != "Definition" || strings.HasSuffix(name, "_test.go") {
				continue
			}
			receiver := method.Recv.List[0].Type
			if pointer, is := receiver.(*ast.StarExpr); is {
				receiver = pointer.X
			}
			if found++; !listed[receiver.(*ast.Ident).Name] {
				t.Errorf("the tool %s of %s is missing in every", receiver, name)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d tools were found; the test looks in the wrong place", found)
	}
}

// schema is what the tests read of a schema.
type schema struct {
	Type                 string
	Properties           map[string]json.RawMessage
	Required             []string
	AdditionalProperties *bool
}

func schemaOf(t *testing.T, definition tools.Definition) schema {
	t.Helper()
	var read schema
	if err := json.Unmarshal(definition.Schema, &read); err != nil {
		t.Fatalf("%s: %v", definition.Name, err)
	}
	return read
}

func TestEveryToolIsWhatItSays(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	writing := []string{"edit", "patch", "write", "memory_write", "insert_blocks", "update_block", "replace_blocks"}
	for tool, sample := range every(t) {
		definition := tool.Definition()
		if !snake.MatchString(definition.Name) || definition.Version == "" || !strings.Contains(definition.Description, ".\n") {
			t.Errorf("%s is incomplete: %+v", definition.Name, definition)
		}
		if !slices.Contains(append(domain.Classes, domain.ClassNone), definition.Class) {
			t.Errorf("%s has the class %q", definition.Name, definition.Class)
		}
		if writes := slices.Contains(writing, definition.Name); writes != (definition.Class == domain.ClassWrite) {
			t.Errorf("%s has the class %q", definition.Name, definition.Class)
		}
		read := schemaOf(t, definition)
		if read.Type != "object" || read.AdditionalProperties == nil || *read.AdditionalProperties {
			t.Errorf("%s takes %+v", definition.Name, read)
		}
		if err := compiled(t, definition.Schema).Validate(decode(t, sample)); err != nil {
			t.Errorf("%s: the schema does not take %s: %v", definition.Name, sample, err)
		}
		intent, err := tool.Check(json.RawMessage(sample), "/srv")
		if err != nil || intent.Summary == "" || strings.ContainsAny(intent.Summary, "\n\r") {
			t.Errorf("%s: %s is %q, %v", definition.Name, sample, intent.Summary, err)
		}
		tests := members(t, sample)
		for name := range read.Properties {
			if _, used := tests[name]; !used {
				t.Errorf("the sample of %s does not use %s", definition.Name, name)
			}
		}
	}
}

func members(t *testing.T, object string) map[string]json.RawMessage {
	t.Helper()
	var found map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// refuses fails the test where a tool takes the arguments. Run must be as strict as Check, since a decider may have
// written what it gets.
func refuses(t *testing.T, tool tools.Tool, what, arguments string) {
	t.Helper()
	_, err := tool.Check(json.RawMessage(arguments), "/srv")
	if domain.CodeOf(err) != domain.CodeInvalidArguments {
		t.Errorf("%s: %s: %v", tool.Definition().Name, what, err)
	} else if message := domain.FailureOf(err).Message; len(message) > 8<<10 {
		t.Errorf("%s: %s: the error has %d bytes", tool.Definition().Name, what, len(message))
	}
	host := &hosttest.Host{Files: fstest.MapFS{"a": {Data: []byte("x\n")}}}
	if result := tool.Run(t.Context(), host, domain.ToolCall{ID: "c", Arguments: json.RawMessage(arguments)}); result.Failure == nil {
		t.Errorf("%s: %s ran: %.200q", tool.Definition().Name, what, result.Output)
	}
}

func TestEveryToolRefusesWhatItDoesNotKnow(t *testing.T) {
	for tool, sample := range every(t) {
		read := schemaOf(t, tool.Definition())
		inside := strings.TrimSuffix(strings.TrimPrefix(sample, "{"), "}")
		refuses(t, tool, "an unknown field", `{`+inside+`, "dryRun": true}`)
		// At the first one: each name is compared with those before it, and a model may write 50,000.
		_, err := tool.Check(json.RawMessage(`{"nobodyKnows": 1, "nobodyKnowsEither": 1, "broken`), "/srv")
		_, bySchema := tool.(*tools.ClientTool)
		if message := domain.FailureOf(err).Message; !bySchema && !strings.Contains(message, `"nobodyKnows"`) {
			t.Errorf("%s read on behind an unknown field: %s", tool.Definition().Name, message)
		}
		for name, value := range members(t, sample) {
			refuses(t, tool, name+" twice", `{`+inside+`, "`+name+`": `+string(value)+`}`)
			refuses(t, tool, name+" in capitals", `{`+inside+`, "`+strings.ToUpper(name)+`": `+string(value)+`}`)
			if !bytes.HasPrefix(value, []byte("{")) { // which it is to be
				refuses(t, tool, name+" as an object", with(t, sample, name, `{"a": 1}`))
			}
			refuses(t, tool, name+" as a list of lists", with(t, sample, name, `[[[]]]`))
			refuses(t, tool, name+" as a deep list", with(t, sample, name, strings.Repeat("[", 9000)+strings.Repeat("]", 9000)))
			refuses(t, tool, name+" as too deep a list", with(t, sample, name, strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000)))
			refuses(t, tool, name+" as a huge number", with(t, sample, name, `1e999`))
		}
		for _, name := range read.Required {
			refuses(t, tool, "no "+name, with(t, sample, name, ""))
		}
	}
}

// with is the object with another value for a member, or without it.
func with(t *testing.T, object, name, value string) string {
	t.Helper()
	fields := members(t, object)
	delete(fields, name)
	parts := []string{}
	for other, kept := range fields {
		parts = append(parts, `"`+other+`": `+string(kept))
	}
	if value != "" {
		parts = append(parts, `"`+name+`": `+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func TestEveryToolSurvivesWhatIsNoObject(t *testing.T) {
	for tool := range every(t) {
		for _, arguments := range []string{
			"", "null", "[]", "[{}]", "5", "true", `"x"`, "{", "}", "{}{}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{1:2}`, "{\"\xff\":1}", "\x00", "//",
			strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<18),
		} {
			refuses(t, tool, "no object", arguments)
		}
	}
}

// TestEveryToolSurvivesLongTexts does not say which of them are too long: a pattern is sooner than a file is.
func TestEveryToolSurvivesLongTexts(t *testing.T) {
	var texts []json.RawMessage
	for _, unit := range []string{"\u202e", "`", "/", "\n", "(", "*", "😀", "\u0000", "-\n+\n", "@@ -1 +1 @@\n"} {
		texts = append(texts, domain.Encode(strings.Repeat(unit, (16<<10)/len(unit))))
	}
	for tool, sample := range every(t) {
		for name := range members(t, sample) {
			for _, text := range texts {
				survives(t, tool, name, json.RawMessage(with(t, sample, name, string(text))))
			}
			for taken, size := true, 64<<10; taken && size <= 1<<20; size *= 4 { // what is too long stays so
				taken = survives(t, tool, name, json.RawMessage(with(t, sample, name, string(domain.Encode(strings.Repeat("x", size))))))
			}
		}
	}
}

// survives reports whether the tool takes the arguments.
func survives(t *testing.T, tool tools.Tool, what string, arguments json.RawMessage) (taken bool) {
	t.Helper()
	intent, err := tool.Check(arguments, "/srv")
	if len(intent.Summary) > 8<<10 || err != nil && domain.CodeOf(err) != domain.CodeInvalidArguments {
		t.Errorf("%s: %s: a summary of %d bytes, %v", tool.Definition().Name, what, len(intent.Summary), err)
	}
	host := &hosttest.Host{Files: fstest.MapFS{"a": {Data: []byte("x\n")}}}
	result := tool.Run(t.Context(), host, domain.ToolCall{ID: "c", Arguments: arguments})
	if len(result.Output) > 300<<10 || err != nil && result.Failure == nil {
		t.Errorf("%s: %s: %d bytes, %v", tool.Definition().Name, what, len(result.Output), result.Failure)
	}
	return err == nil
}

// TestNoToolIsPromised finds the names of tools in what the model reads: a name with an underscore, or after "tool" or
// "use". Each must be there.
func TestNoToolIsPromised(t *testing.T) {
	names, properties, texts := []string{}, []string{}, map[string]string{}
	for tool := range every(t) {
		definition := tool.Definition()
		names = append(names, definition.Name)
		texts[definition.Name] = definition.Description + string(definition.Schema)
		for name := range schemaOf(t, definition).Properties {
			properties = append(properties, name)
		}
	}
	named := regexp.MustCompile("\\b(?:[Tt]ools?|[Uu]se) `([a-z_]+)`(?: (?:and|or) `([a-z_]+)`)?|\\b([a-z]+(?:_[a-z]+)+)\\b")
	commands := []string{"head", "tail", "node_modules"} // of the shell; a folder
	for tool, text := range texts {
		for _, found := range named.FindAllStringSubmatch(text, -1) {
			for _, name := range found[1:] {
				if name != "" && !slices.Contains(slices.Concat(names, properties, commands), name) {
					t.Errorf("%s speaks of %s, which is not there", tool, name)
				}
			}
		}
	}
}
