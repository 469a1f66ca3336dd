package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/domain"
)

const (
	maxBytes = 256 << 10 // of a schema
	maxDepth = 100       // of a schema
	// place is what the document is called inside the compiler. It is no address that anything could be loaded from.
	place = "signoff:schema"

	maxDetails      = 20
	maxMessageBytes = 300
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

// nowhere keeps the compiler from reading files and fetching pages for whoever wrote the schema.
type nowhere struct{}

func (nowhere) Load(string) (any, error) {
	return nil, errors.New("schema: a schema refers to another document")
}

// explain says what is wrong with a schema, in words that hold nothing but the schema itself.
func explain(err error) error {
	var wrong *jsonschema.SchemaValidationError
	var details *jsonschema.ValidationError
	var pattern *jsonschema.InvalidRegexError
	var elsewhere *jsonschema.LoadURLError
	switch {
	case errors.As(err, &elsewhere):
		return refused("The schema refers to another document; only references inside of it (#/…) are followed.").With(err)
	case errors.As(err, &pattern):
		return refused("The schema has a pattern that cannot be used: %s. Patterns are those of RE2.", cut(pattern.Regex)).With(err)
	case errors.As(err, &wrong) && errors.As(wrong.Err, &details):
		first := misfits(details)[0]
		return refused("This is no JSON Schema: at %q: %s.", first.Pointer, first.Message).With(err)
	default:
		return refused("This is no JSON Schema that can be used: a reference or a keyword cannot be resolved.").With(err)
	}
}

func refused(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeInvalid, format, args...)
}

// Check tells where the value does not fit. The pointers begin at the value.
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

// verdict says what the end of a check means. Only a check that found nothing lets a value pass: an error that nobody here knows
// would otherwise be a way past every schema.
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

// OfObject tells whether a schema says that what fits it is an object. Providers of models refuse a tool whose arguments are not.
// The name is taken letter by letter: encoding/json would let a "Type" count for the type.
func OfObject(document json.RawMessage) bool {
	var fields map[string]any
	return json.Unmarshal(document, &fields) == nil && fields["type"] == "object"
}

// misfits are the places that are wrong, in a steady order: the validator walks maps.
func misfits(wrong *jsonschema.ValidationError) []domain.Detail {
	details := leaves(wrong)
	slices.SortFunc(details, func(a, b domain.Detail) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	details = slices.Compact(details)
	if more := len(details) - maxDetails; more > 0 {
		details = append(details[:maxDetails], domain.Detail{Message: fmt.Sprintf("%d more places are wrong", more)})
	}
	return details
}

// leaves are what is wrong in the end; what stands above them only says that something below is.
func leaves(wrong *jsonschema.ValidationError) (details []domain.Detail) {
	for _, cause := range wrong.Causes {
		details = append(details, leaves(cause)...)
	}
	if len(wrong.Causes) > 0 {
		return details
	}
	unit := wrong.BasicOutput()
	return []domain.Detail{{Pointer: cut(unit.InstanceLocation), Message: cut(strings.TrimSpace(unit.Error.String()))}}
}

// cut keeps a message short: a list of a thousand allowed values says no more than its beginning.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessageBytes], "") + "…"
}
