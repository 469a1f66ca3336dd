package tools

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"signoff/internal/domain"
)

const (
	schemaFields      = `optionally "name" and "pointer" (strings)`
	maxSchemaBytes    = 32 << 10
	maxSchemaName     = 200
	maxPointerBytes   = 1000
	schemaDescription = 120 // characters, in the list

	environmentName = "environment" // the page that is no schema
)

//go:embed read_schema.md
var schemaText string

// ReadSchema is a reference of JSON Schemas, and of what the execution sees of the machine. It reads only these, so no approval is needed.
type ReadSchema struct {
	schemas func() (map[string]json.RawMessage, error)
}

var _ Tool = (*ReadSchema)(nil)

// NewReadSchema returns a reference of schemas, by their names. They are read once, when a model asks for the first time.
func NewReadSchema(read func() (map[string]json.RawMessage, error)) *ReadSchema {
	return &ReadSchema{schemas: sync.OnceValues(read)}
}

type schemaArguments struct{ name, pointer string }

// Definition implements [Tool].
func (*ReadSchema) Definition() Definition {
	return Definition{
		Name:        "read_schema",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: schemaText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "The name of the schema. Default: list the names."},
				"pointer": {"type": "string", "description": "A JSON Pointer to a part of the schema. Default: all of it."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (*ReadSchema) Check(arguments json.RawMessage, _ string) (Intent, error) {
	wanted, err := readSchemaArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	switch {
	case wanted.name == "":
		return Intent{Summary: "List the schemas"}, nil
	case wanted.name == environmentName && wanted.pointer == "":
		return Intent{Summary: "Look up what is visible in the environment"}, nil
	}
	return Intent{Summary: "Look up the schema " + code(wanted.name+wanted.pointer)}, nil
}

// Run implements [Tool].
func (s *ReadSchema) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readSchemaArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	if wanted.name == environmentName && wanted.pointer == "" {
		return Result{Output: cmp.Or(host.Surroundings(ctx), "Nothing is known of what commands and file tools see here.")}
	}
	schemas, err := s.schemas()
	if err != nil {
		return failed("", domain.Errorf(domain.CodeToolFailed, "The schemas cannot be read.").With(err))
	}
	names := slices.Sorted(maps.Keys(schemas))
	if wanted.name == "" {
		return Result{Output: environmentName + ": what your commands and file tools see of the machine\n" + listSchemas(names, schemas)}
	}
	schema, known := schemas[wanted.name]
	if !known {
		return failed("", invalid("There is no schema called %s. The schemas are: %s.", code(wanted.name), strings.Join(names, ", ")))
	}
	part, err := follow(schema, wanted.pointer)
	if err != nil {
		return failed("", err)
	}
	return showSchema(part)
}

func listSchemas(names []string, schemas map[string]json.RawMessage) string {
	if len(names) == 0 {
		return "(there are no schemas)"
	}
	var list strings.Builder
	for _, name := range names {
		list.WriteString(name)
		if description := describe(schemas[name]); description != "" {
			list.WriteString(": " + description)
		}
		list.WriteByte('\n')
	}
	return list.String()
}

// describe is the description of a schema, in one line.
func describe(schema json.RawMessage) string {
	var said struct{ Title, Description string }
	if err := json.Unmarshal(schema, &said); err != nil {
		return ""
	}
	text := strings.Join(strings.Fields(said.Description), " ")
	if text == "" {
		text = said.Title
	}
	return shorten(text, schemaDescription, 0)
}

// follow goes down a JSON Pointer (RFC 6901).
func follow(schema json.RawMessage, pointer string) (json.RawMessage, error) {
	if pointer == "" {
		return schema, nil
	}
	part := schema
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		below, found := member(part, token)
		if !found {
			return nil, invalid("There is no %s at that place of the schema. %s", code(token), inside(part))
		}
		part = below
	}
	return part, nil
}

func member(part json.RawMessage, token string) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(part, &list) == nil {
		index, err := strconv.Atoi(token)
		if err != nil || index < 0 || index >= len(list) {
			return nil, false
		}
		return list[index], true
	}
	below, found := membersOf(part)[token]
	return below, found
}

// inside lists the next members of a pointer.
func inside(part json.RawMessage) string {
	names := slices.Sorted(maps.Keys(membersOf(part)))
	if len(names) == 0 {
		return "Nothing with a name is there."
	}
	return "There are: " + shorten(strings.Join(names, ", "), 2000, 0) + "."
}

func membersOf(part json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(part, &members); err != nil {
		return nil
	}
	return members
}

func showSchema(part json.RawMessage) Result {
	var text bytes.Buffer
	if err := json.Indent(&text, part, "", "  "); err != nil {
		return failed("", domain.Errorf(domain.CodeToolFailed, "The schema cannot be read.").With(err))
	}
	if text.Len() <= maxSchemaBytes {
		return Result{Output: text.String()}
	}
	shown := text.String()[:runeCut(text.String(), maxSchemaBytes)]
	note := fmt.Sprintf("[… %d bytes left out here. Ask for a part with a pointer. %s]", text.Len()-len(shown), inside(part))
	return Result{Output: joinLines(shown, note), Truncated: true}
}

func readSchemaArguments(arguments json.RawMessage) (schemaArguments, error) {
	members := readFields(arguments, schemaFields, "name", "pointer")
	wanted := schemaArguments{
		name:    members.optionalText("name", maxSchemaName),
		pointer: strings.TrimPrefix(members.optionalText("pointer", maxPointerBytes), "#"), // as a URI fragment, the other spelling that there is
	}
	switch {
	case wanted.pointer != "" && wanted.name == "":
		members.wrong(`The field "pointer" needs the "name" of a schema.`)
	case wanted.pointer != "" && wanted.pointer[0] != '/':
		members.wrong(`The field "pointer" must begin with a slash, such as /properties/name.`)
	}
	return wanted, members.mistake
}
