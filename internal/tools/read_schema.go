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
	schemaFields      = `optionally "name", "pointer" and "scope" (strings)`
	maxSchemaBytes    = 32 << 10
	maxTypeListBytes  = 16 << 10
	maxSchemaName     = 200
	maxPointerBytes   = 1000
	schemaDescription = 120 // characters, in the list

	environmentName = "environment" // the page that is no schema

	scopeRunbook = "runbook" // the block types of the execution's runbook
	scopeService = "service" // the types of this service's own API
)

//go:embed read_schema.md
var schemaText string

// ReadSchema is a reference of JSON Schemas, and of what the execution sees of the machine. It reads only these, so no approval is needed.
type ReadSchema struct {
	service func() (map[string]json.RawMessage, error)
}

var _ Tool = (*ReadSchema)(nil)

// NewReadSchema returns a reference of the block types of a runbook, and of the service's own types by their names. The latter are read once, when a
// model asks for the first time.
func NewReadSchema(service func() (map[string]json.RawMessage, error)) *ReadSchema {
	return &ReadSchema{service: sync.OnceValues(service)}
}

type schemaArguments struct{ name, pointer, scope string }

// ofService tells whether the service's types are asked for, and not those of the runbook.
func (a schemaArguments) ofService() bool { return a.scope == scopeService }

// ofEnvironment tells whether the page about the environment is asked for. A block type or a part of it is no such page.
func (a schemaArguments) ofEnvironment() bool {
	return a.name == environmentName && a.pointer == "" && a.scope == ""
}

// Definition implements [Tool].
func (*ReadSchema) Definition() Definition {
	return Definition{
		Name:        "read_schema",
		Version:     "2",
		Class:       domain.ClassNone,
		Description: schemaText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "The name of a block type or a schema. Default: list the names."},
				"pointer": {"type": "string", "description": "A JSON Pointer to a part of the schema. Default: all of it."},
				"scope": {"type": "string", "enum": ["runbook", "service"], "description": "runbook: the block types of the runbook. service: the types of the API of this service. Default: runbook."}
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
	case wanted.ofEnvironment():
		return Intent{Summary: "Look up what is visible in the environment"}, nil
	case wanted.name == "" && wanted.ofService():
		return Intent{Summary: "List the types of the service"}, nil
	case wanted.name == "":
		return Intent{Summary: "List the block types of the runbook"}, nil
	case wanted.ofService():
		return Intent{Summary: "Look up the type of the service " + code(wanted.name+wanted.pointer)}, nil
	}
	return Intent{Summary: "Look up the block type " + code(wanted.name+wanted.pointer)}, nil
}

// Run implements [Tool].
func (s *ReadSchema) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readSchemaArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	switch {
	case wanted.ofEnvironment():
		return Result{Output: cmp.Or(host.Surroundings(ctx), "Nothing is known of what commands and file tools see here.")}
	case wanted.ofService():
		return s.ofService(wanted)
	default:
		return ofRunbook(host.Runbook().BlockTypes, wanted)
	}
}

// ofRunbook shows the block types of the runbook: the list, or the schema of the props of one.
func ofRunbook(types []domain.BlockType, wanted schemaArguments) Result {
	if wanted.name == "" {
		return Result{Output: listBlockTypes(types)}
	}
	at := slices.IndexFunc(types, func(t domain.BlockType) bool { return t.Type == wanted.name })
	switch {
	case at < 0 && len(types) == 0:
		return failed("", invalid("There is no block type called %s. %s", code(wanted.name), withoutTypes))
	case at < 0:
		return failed("", invalid("There is no block type called %s. The block types are: %s. %s", code(wanted.name), typeNames(types), serviceHint))
	case types[at].PropsSchema == nil && wanted.pointer == "":
		return Result{Output: "The block type " + code(wanted.name) + " has no schema: its props may be any JSON object."}
	case types[at].PropsSchema == nil:
		return failed("", invalid("The block type %s has no schema: its props may be any JSON object.", code(wanted.name)))
	}
	return showPart(types[at].PropsSchema, wanted.pointer)
}

// ofService shows the types of the service's own API: the list, or one of them.
func (s *ReadSchema) ofService(wanted schemaArguments) Result {
	schemas, err := s.service()
	if err != nil {
		return failed("", domain.Errorf(domain.CodeToolFailed, "The schemas cannot be read.").With(err))
	}
	names := slices.Sorted(maps.Keys(schemas))
	if wanted.name == "" {
		return Result{Output: listSchemas(names, schemas)}
	}
	schema, known := schemas[wanted.name]
	if !known {
		return failed("", invalid("The service has no type called %s. Its types are: %s.", code(wanted.name), strings.Join(names, ", ")))
	}
	return showPart(schema, wanted.pointer)
}

func showPart(schema json.RawMessage, pointer string) Result {
	part, err := follow(schema, pointer)
	if err != nil {
		return failed("", err)
	}
	return showSchema(part)
}

const (
	environmentHint = environmentName + ": what your commands and file tools see of the machine\n"
	serviceHint     = `The types of the API of this service are listed with {"scope": "service"}.`
	withoutTypes    = "The runbook of this execution has brought no block types. " + serviceHint
)

// listBlockTypes lists the types of the runbook, the page about the environment, and how to get to the service's own types.
func listBlockTypes(types []domain.BlockType) string {
	if len(types) == 0 {
		return withoutTypes + "\nBesides, by name:\n" + environmentHint
	}
	var list strings.Builder
	list.WriteString("The block types of the runbook:\n")
	for _, t := range types {
		list.WriteString(schemaLine(t.Type, t.Description))
	}
	return clipped(list.String(), maxTypeListBytes) + "Besides, by name:\n" + environmentHint + serviceHint
}

func listSchemas(names []string, schemas map[string]json.RawMessage) string {
	if len(names) == 0 {
		return "(there are no schemas)"
	}
	var list strings.Builder
	for _, name := range names {
		list.WriteString(schemaLine(name, describe(schemas[name])))
	}
	return list.String()
}

// schemaLine is a line of a list.
func schemaLine(name, description string) string {
	if description = strings.Join(strings.Fields(description), " "); description != "" {
		return name + ": " + shorten(description, schemaDescription, 0) + "\n"
	}
	return name + "\n"
}

// describe is the description of a schema, or its title.
func describe(schema json.RawMessage) string {
	var said struct{ Title, Description string }
	if err := json.Unmarshal(schema, &said); err != nil {
		return ""
	}
	return cmp.Or(strings.TrimSpace(said.Description), said.Title)
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
	members := readFields(arguments, schemaFields, "name", "pointer", "scope")
	wanted := schemaArguments{
		name:    members.optionalText("name", maxSchemaName),
		pointer: strings.TrimPrefix(members.optionalText("pointer", maxPointerBytes), "#"), // as a URI fragment, the other spelling that there is
		scope:   members.optionalText("scope", maxSchemaName),
	}
	switch {
	case wanted.scope != "" && wanted.scope != scopeRunbook && wanted.scope != scopeService:
		members.wrong(`The field "scope" must be "runbook" or "service".`)
	case wanted.pointer != "" && wanted.name == "":
		members.wrong(`The field "pointer" needs the "name" of a schema.`)
	case wanted.pointer != "" && wanted.pointer[0] != '/':
		members.wrong(`The field "pointer" must begin with a slash, such as /properties/name.`)
	}
	return wanted, members.mistake
}
