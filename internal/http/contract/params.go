package contract

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"

	"signoff/internal/domain"
)

// cursors are parameters with a cursor. A malformed one is a syntax error, not a wrong value: clients do not make up cursors.
var cursors = map[string]bool{"cursor": true, "after": true, "Last-Event-ID": true}

// Parameters reads path, query and headers. An unknown query parameter is an error: it would be a filter that does not filter.
func (reader *Reader[Request]) Parameters(r *http.Request) (request Request, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return request, malformed("The query cannot be read.")
	}
	into := reflect.ValueOf(&request).Elem()
	problem := &domain.Error{Code: domain.CodeInvalid}
	for i, p := range reader.operation.parameters {
		var texts []string
		switch p.In {
		case openapi3.ParameterInPath:
			name, err := pathValue(r, p)
			if err != nil {
				return request, err
			}
			fill(into.FieldByIndex(reader.parameters[i]), name, nil)
			continue
		case openapi3.ParameterInHeader:
			texts = r.Header.Values(p.Name)
		case openapi3.ParameterInQuery:
			texts = query[p.Name]
			delete(query, p.Name)
		}
		value, wrong := parameterValue(p, texts)
		if wrong == nil {
			fill(into.FieldByIndex(reader.parameters[i]), value, p.Schema.Value.Default)
			continue
		}
		if cursors[p.Name] {
			wrong.Code, wrong.Message = domain.CodeMalformed, p.Name+" is not a cursor of this service."
			return request, wrong
		}
		problem.Details, problem.Message = append(problem.Details, wrong.Details...), wrong.Message
	}
	for name := range query {
		problem.Details = append(problem.Details, domain.Detail{Pointer: name, Message: "is not a known parameter"})
		problem.Message = "This route does not know a parameter that was sent."
	}
	switch len(problem.Details) {
	case 0:
		return request, nil
	case 1:
		return request, problem
	default:
		return request, domain.InvalidParts(problem.Details...)
	}
}

// pathValue treats a malformed name like an unknown one.
func pathValue(r *http.Request, p *openapi3.Parameter) (string, error) {
	name, err := url.PathUnescape(chi.URLParam(r, p.Name))
	if err == nil && p.Schema.Value.VisitJSON(name) == nil {
		return name, nil
	}
	return "", domain.Errorf(domain.CodeNotFound, "There is no such thing.")
}

// parameterValue returns a parameter as JSON for its schema; nil if it was not sent.
func parameterValue(p *openapi3.Parameter, texts []string) (value any, wrong *domain.Error) {
	schema := p.Schema.Value
	list := schema.Type.Is(openapi3.TypeArray)
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > 1 && !list {
		return nil, domain.Invalid(p.Name, "%s must be given once.", p.Name)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, domain.Invalid(p.Name, "%s must be text in UTF-8 without U+0000.", p.Name)
		}
	}
	value = jsonOf(schema, texts[0])
	if list {
		items := make([]any, len(texts))
		for i := range texts {
			items[i] = jsonOf(schema.Items.Value, texts[i])
		}
		value = items
	}
	if err := schema.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		return nil, invalid(p.Name, err)
	}
	return value, nil
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]{1,18}$`)

// jsonOf returns the text of a parameter as JSON. Text that is no number and no boolean stays text, and the schema refuses it.
func jsonOf(schema *openapi3.Schema, text string) any {
	switch {
	case schema.Type.Is(openapi3.TypeInteger) && wholeNumber.MatchString(text):
		return json.Number(text)
	case schema.Type.Is(openapi3.TypeBoolean) && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}

// fill sets a field to the value of a parameter; see [canHold]. A missing parameter has the document's default, or nil if the field is a
// pointer.
func fill(field reflect.Value, value, missing any) {
	if field.Kind() == reflect.Pointer {
		if value != nil {
			field.Set(reflect.New(field.Type().Elem()))
			fill(field.Elem(), value, nil)
		}
		return
	}
	if value == nil {
		value = missing
	}
	switch value := value.(type) {
	case string:
		field.SetString(value)
	case bool:
		field.SetBool(value)
	case json.Number:
		number, _ := value.Int64() // 18 digits fit
		field.SetInt(number)
	case float64: // of a default
		field.SetInt(int64(value))
	case []any:
		field.Set(reflect.MakeSlice(field.Type(), len(value), len(value)))
		for i, item := range value {
			fill(field.Index(i), item, nil)
		}
	}
}
