package runbooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// MaxTypes is how many types a request may bring along.
const MaxTypes = 100

const (
	maxTypes            = 2 * MaxTypes // with those of the registry
	maxTypeBytes        = 100
	maxDescriptionBytes = 1000
	maxDocsBytes        = 64 << 10
)

// Types are the types that the blocks of one runbook can have. They never change and may be used by several goroutines.
type Types struct {
	list    []domain.BlockType
	schemas map[string]*schema.Schema  // of the types that have one
	props   map[string]map[string]bool // the names that these schemas give to props
}

// Merge returns the types of a request with those of the registry behind them. Where both have one, the request's wins: its
// client knows its own editor.
func Merge(request, registry []domain.BlockType) []domain.BlockType {
	merged := slices.Clone(request)
	for _, known := range registry {
		if !slices.ContainsFunc(request, func(t domain.BlockType) bool { return t.Type == known.Type }) {
			merged = append(merged, known)
		}
	}
	return merged
}

// Compile reads a list of types. What is wrong with them is a [*domain.Error] with [domain.CodeInvalid], whose pointers
// begin at the list.
func Compile(list []domain.BlockType) (*Types, error) {
	if len(list) > maxTypes {
		return nil, domain.Invalid("", "There are %d block types; at most %d are allowed.", len(list), maxTypes)
	}
	types := &Types{list: list, schemas: map[string]*schema.Schema{}, props: map[string]map[string]bool{}}
	seen := map[string]bool{}
	for i, t := range list {
		pointer := fmt.Sprintf("/%d", i)
		if err := checkType(pointer, t); err != nil {
			return nil, err
		}
		if seen[t.Type] {
			return nil, domain.Invalid(pointer+"/type", "There are two block types %q.", t.Type)
		}
		seen[t.Type] = true
		if t.PropsSchema == nil {
			continue
		}
		props, err := schema.Compile(t.PropsSchema)
		if err != nil {
			return nil, domain.Invalid(pointer+"/propsSchema", "%s", domain.FailureOf(err).Message).With(err)
		}
		types.schemas[t.Type], types.props[t.Type] = props, namesOf(t.PropsSchema)
	}
	return types, nil
}

// namesOf are the names in the properties of a schema.
func namesOf(document json.RawMessage) map[string]bool {
	var described struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	names := map[string]bool{}
	if err := json.Unmarshal(document, &described); err != nil { // true and false are schemas, too
		return names
	}
	for name := range described.Properties {
		names[name] = true
	}
	return names
}

func checkType(pointer string, t domain.BlockType) error {
	switch {
	case !plain(t.Type):
		return domain.Invalid(pointer+"/type", "The type of a block is a word of 1 to %d visible characters.", maxTypeBytes)
	case len(t.Description) > maxDescriptionBytes:
		return domain.Invalid(pointer+"/description", "The description has %d bytes; at most %d are allowed.", len(t.Description), maxDescriptionBytes)
	case len(t.Docs) > maxDocsBytes:
		return domain.Invalid(pointer+"/docs", "The docs have %d bytes; at most %d are allowed.", len(t.Docs), maxDocsBytes)
	}
	return nil
}

// plain reports whether a type can be printed within a sentence.
func plain(name string) bool {
	return name != "" && len(name) <= maxTypeBytes && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}

// List are the types, in their order.
func (t *Types) List() []domain.BlockType { return t.list }

// Names are the names of the types, in their order.
func (t *Types) Names() []string {
	names := make([]string, 0, len(t.list))
	for _, known := range t.list {
		names = append(names, known.Type)
	}
	return names
}

// Lookup finds a type by its name.
func (t *Types) Lookup(name string) (domain.BlockType, bool) {
	at := slices.IndexFunc(t.list, func(known domain.BlockType) bool { return known.Type == name })
	if at < 0 {
		return domain.BlockType{}, false
	}
	return t.list[at], true
}
