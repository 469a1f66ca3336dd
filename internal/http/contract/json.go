package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// ParseJSON reads one JSON value as strictly as RFC 8259 allows. Go's own decoder takes the last of two equal names,
// replaces broken UTF-8 and lone surrogates by U+FFFD and ignores what follows the value: each of them means that two
// readers of the same bytes can see different things, and what a person approves must be what runs.
//
// Objects become map[string]any, numbers stay [json.Number].
func ParseJSON(data []byte) (any, error) {
	switch {
	case !utf8.Valid(data):
		return nil, malformed("The body is not valid UTF-8.")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, malformed("The body begins with a byte order mark.")
	case loneSurrogate(data):
		return nil, malformed("A string holds half a surrogate pair.")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	p := &parser{decoder: decoder}
	value, err := p.value(0)
	if err != nil {
		return nil, p.explain(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("Something follows the JSON value.")
	}
	if len(p.nuls) > 0 {
		return nil, &domain.Error{Code: domain.CodeInvalid, Message: "U+0000 is not allowed in strings.", Details: p.nuls}
	}
	return value, nil
}

// parser builds a value from tokens. The decoder checks the grammar.
type parser struct {
	decoder *json.Decoder
	path    []string
	nuls    []domain.Detail
}

func (p *parser) value(depth int) (any, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == domain.MaxDepth {
			return nil, malformed("The body is nested deeper than %d levels.", domain.MaxDepth)
		}
		if token == '[' {
			return p.array(depth + 1)
		}
		return p.object(depth + 1)
	case string:
		p.check(token)
	}
	return token, nil
}

func (p *parser) array(depth int) (any, error) {
	array := []any{}
	for p.decoder.More() {
		p.path = append(p.path, strconv.Itoa(len(array)))
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		array = append(array, value)
	}
	_, err := p.decoder.Token()
	return array, err
}

func (p *parser) object(depth int) (any, error) {
	object := map[string]any{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder lets nothing else be a name
		p.check(name)          // points at the object, since a pointer must not hold it either
		p.path = append(p.path, name)
		if _, double := object[name]; double {
			return nil, p.at(malformed("A name stands twice in the same object."))
		}
		if object[name], err = p.value(depth); err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
	}
	_, err := p.decoder.Token()
	return object, err
}

func (p *parser) check(text string) {
	if strings.ContainsRune(text, 0) && len(p.nuls) < MaxDetails {
		p.nuls = append(p.nuls, domain.Detail{Pointer: domain.Pointer(p.path...), Message: "must not hold U+0000"})
	}
}

func (p *parser) at(err *domain.Error) *domain.Error {
	err.Details = []domain.Detail{{Pointer: domain.Pointer(p.path...), Message: err.Message}}
	return err
}

func (p *parser) explain(err error) error {
	var coded *domain.Error
	if errors.As(err, &coded) {
		return err
	}
	return malformed("The body is not valid JSON: it breaks at byte %d.", p.decoder.InputOffset())
}

// loneSurrogate looks for an escaped surrogate without its other half. In valid JSON a backslash stands only in
// strings, and what is not valid JSON is refused anyway.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		unit, ok := escape(data, i)
		switch {
		case !ok || unit < 0xD800 || unit > 0xDFFF:
			continue
		case unit >= 0xDC00:
			return true
		}
		low, ok := escape(data, i+6)
		if !ok || data[i+5] != '\\' || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		i += 10
	}
	return false
}

// escape reads uXXXX at data[at:].
func escape(data []byte, at int) (unit uint64, ok bool) {
	if at+5 > len(data) || data[at] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[at+1:at+5]), 16, 16)
	return unit, err == nil
}

func malformed(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeMalformed, format, args...)
}
