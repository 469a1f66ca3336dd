package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/domain"
)

const (
	maxBytes = 256 << 10 // of a schema
	maxDepth = 100       // of a schema
)

// Schema is a compiled schema. It may be used by several goroutines.
type Schema struct {
	root  *jsonschema.Schema
	mu    sync.Mutex // of meter: one check at a time
	meter *meter
}

// Compile reads a schema. What is wrong with it is a [*domain.Error] with [domain.CodeInvalid].
func Compile(document json.RawMessage) (*Schema, error) {
	if len(document) > maxBytes {
		return nil, refused("The schema has %d bytes; at most %d are allowed.", len(document), maxBytes)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, refused("The schema is not valid JSON.").With(err)
	}
	if flaw := flawOf(value, maxDepth); flaw != "" {
		return nil, refused("The schema cannot be used: %s.", flaw)
	}
	s := &Schema{meter: &meter{allowance: allowance}}
	if s.root, err = s.compile(value); err != nil {
		return nil, explain(err)
	}
	if endless(s.root, map[*jsonschema.Schema]bool{}) {
		return nil, refused("The schema refers to itself for the same value, so nothing can fit it.")
	}
	return s, s.meter.install(s.root)
}

func (s *Schema) compile(document any) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	compiler.UseRegexpEngine(s.meter.pattern)
	if err := compiler.AddResource(place, document); err != nil {
		return nil, err
	}
	return compiler.Compile(place)
}

// nowhere keeps a schema from making the compiler read files and fetch pages.
type nowhere struct{}

func (nowhere) Load(string) (any, error) {
	return nil, errors.New("schema: a schema refers to another document")
}

// Check returns the places where the value does not fit. The pointers begin at the value.
func (s *Schema) Check(value json.RawMessage) []domain.Detail {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []domain.Detail{{Message: "this is not valid JSON"}}
	}
	if flaw := flawOf(decoded, 10*maxDepth); flaw != "" {
		return []domain.Detail{{Message: flaw}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return verdict(s.meter.run(func() error { return s.root.Validate(decoded) }))
}

// verdict turns the error of a check into details. A value passes only without an error: an unknown error must not be a way past
// every schema.
func verdict(err error) []domain.Detail {
	var wrong *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooMuch):
		return []domain.Detail{{Message: "checking this against its schema takes too much work"}}
	case errors.As(err, &wrong):
		return misfits(wrong)
	default:
		return []domain.Detail{{Message: "this cannot be checked against its schema"}}
	}
}

// OfObject reports whether only objects fit a schema. Providers of models refuse tools with other arguments.
// The name is taken letter by letter: encoding/json would let a "Type" count for the type.
func OfObject(document json.RawMessage) bool {
	var fields map[string]any
	return json.Unmarshal(document, &fields) == nil && fields["type"] == "object"
}
