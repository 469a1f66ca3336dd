package http

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"

	"signoff/internal/domain"
)

// places are parameters that say where to go on. One that cannot be read is a syntax error, not a wrong value: no
// client makes up cursors.
var places = map[string]bool{"cursor": true, "after": true, "Last-Event-ID": true}

// checkParameters holds the query and the headers against the document. An unknown query parameter is an error: it
// would be a filter that does not filter.
func checkParameters(r *http.Request, o *operation) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return malformed("The query cannot be read.")
	}
	described := map[string]bool{}
	problem := &domain.Error{Code: domain.CodeInvalid, Message: "Some of the input is not allowed; see errors."}
	for _, p := range o.parameters {
		var values []string
		switch p.In {
		case openapi3.ParameterInQuery:
			values = query[p.Name]
			described[p.Name] = true
		case openapi3.ParameterInHeader:
			values = r.Header.Values(p.Name)
		case openapi3.ParameterInPath:
			if err := checkPath(r, p); err != nil {
				return err
			}
		}
		if wrong := checkParameter(p, values); wrong != nil {
			if places[p.Name] {
				wrong.Code, wrong.Message = domain.CodeMalformed, p.Name+" is not one that this service gave out."
				return wrong
			}
			problem.Details, problem.Message = append(problem.Details, wrong.Details...), wrong.Message
		}
	}
	for name := range query {
		if !described[name] {
			problem.Details = append(problem.Details, domain.Detail{Pointer: name, Message: "is not a known parameter"})
			problem.Message = "This route does not know a parameter that was sent."
		}
	}
	switch len(problem.Details) {
	case 0:
		return nil
	case 1:
		return problem
	default:
		problem.Message = "Some of the input is not allowed; see errors."
		return problem
	}
}

// plainKey refuses a secret as the name of a request. It counts letter by letter: it cannot be masked, and would be kept as
// it is.
func (s *Server) plainKey(r *http.Request) error {
	const name = "Idempotency-Key"
	if key := r.Header.Get(name); s.masker.MaskString(key) != key {
		return domain.Invalid(name, "This holds the value of a secret, or what looks like one; choose another key.")
	}
	return nil
}

// checkPath answers a name that cannot be one like a name that nobody has.
func checkPath(r *http.Request, p *openapi3.Parameter) error {
	name, err := url.PathUnescape(chi.URLParam(r, p.Name))
	if err == nil && p.Schema.Value.VisitJSON(name) == nil {
		return nil
	}
	return domain.Errorf(domain.CodeNotFound, "There is no such thing.")
}

func checkParameter(p *openapi3.Parameter, values []string) *domain.Error {
	schema := p.Schema.Value
	list := schema.Type.Is(openapi3.TypeArray)
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 && !list {
		return domain.Invalid(p.Name, "%s must be given once.", p.Name)
	}
	for _, value := range values {
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return domain.Invalid(p.Name, "%s must be text in UTF-8 without U+0000.", p.Name)
		}
	}
	var value any = parameterValue(schema, values[0])
	if list {
		items := make([]any, len(values))
		for i := range values {
			items[i] = parameterValue(schema.Items.Value, values[i])
		}
		value = items
	}
	if err := schema.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		return invalid(p.Name, err)
	}
	return nil
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]{1,18}$`)

// parameterValue is the text of a parameter as the JSON that the schema speaks of. What is no number and no boolean
// stays text, and the schema refuses it.
func parameterValue(schema *openapi3.Schema, text string) any {
	switch {
	case schema.Type.Is(openapi3.TypeInteger) && wholeNumber.MatchString(text):
		return json.Number(text)
	case schema.Type.Is(openapi3.TypeBoolean) && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
