package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"signoff/internal/domain"
)

// ParseJSON reads one JSON value as strictly as RFC 8259 allows. encoding/json takes the last of two equal names, replaces broken UTF-8 and
// lone surrogates by U+FFFD, and ignores data after the value. Then two readers of the same bytes could see different values, but the
// server must run what a person has approved.
//
// Objects become map[string]any, numbers stay [json.Number].
func ParseJSON(data []byte) (any, error) {
	switch {
	case !utf8.Valid(data):
		return nil, malformed("The body is not valid UTF-8.")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, malformed("The body begins with a byte order mark.")
	}
	p := &parser{Decoder: jsontext.NewDecoder(bytes.NewBuffer(data))}
	value, err := p.value()
	if err != nil {
		return nil, p.explain(err)
	}
	if _, err := p.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("Something follows the JSON value.")
	}
	if len(p.nuls) > 0 {
		return nil, &domain.Error{Code: domain.CodeInvalid, Message: "U+0000 is not allowed in strings.", Details: p.nuls}
	}
	return value, nil
}

// parser builds a value from tokens. The decoder checks grammar, names and UTF-8.
type parser struct {
	*jsontext.Decoder
	nuls []domain.Detail
}

func (p *parser) value() (any, error) {
	token, err := p.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{', '[':
		if p.StackDepth() > domain.MaxDepth {
			return nil, malformed("The body is nested deeper than %d levels.", domain.MaxDepth)
		}
		if token.Kind() == '{' {
			return p.object()
		}
		return p.array()
	case '"':
		text := token.String()
		p.check(text, p.StackPointer())
		return text, nil
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (p *parser) array() (any, error) {
	array := []any{}
	for p.PeekKind() != ']' {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := p.ReadToken()
	return array, err
}

func (p *parser) object() (any, error) {
	object := map[string]any{}
	for p.PeekKind() != '}' {
		token, err := p.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		p.check(name, p.StackPointer().Parent()) // a pointer must not hold it either
		if object[name], err = p.value(); err != nil {
			return nil, err
		}
	}
	_, err := p.ReadToken()
	return object, err
}

func (p *parser) check(text string, at jsontext.Pointer) {
	if strings.ContainsRune(text, 0) && len(p.nuls) < MaxDetails {
		p.nuls = append(p.nuls, domain.Detail{Pointer: string(at), Message: "must not hold U+0000"})
	}
}

func (p *parser) explain(err error) error {
	var coded *domain.Error
	var wrong *jsontext.SyntacticError
	switch {
	case errors.As(err, &coded):
		return err
	case errors.As(err, &wrong) && errors.Is(err, jsontext.ErrDuplicateName):
		return duplicate(string(wrong.JSONPointer))
	default:
		return malformed("The body is not valid JSON: it breaks at byte %d.", p.InputOffset())
	}
}

// templateNames are the members of a body whose own members are names of templates. A person chooses such a name in an editor, so a second one is a
// mistake in a form, and no broken client.
var templateNames = []string{"/outputsFrom/", "/variables/"}

func duplicate(pointer string) error {
	if slices.ContainsFunc(templateNames, func(names string) bool { return strings.HasPrefix(pointer, names) }) {
		return domain.Invalid(pointer, "Two values have this name; a template could not tell them apart.")
	}
	twice := malformed("A name stands twice in the same object.")
	twice.Details = []domain.Detail{{Pointer: pointer, Message: twice.Message}}
	return twice
}

func malformed(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeMalformed, format, args...)
}
