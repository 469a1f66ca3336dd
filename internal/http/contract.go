package http

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/api"
	"signoff/internal/keys"
)

// contract is the document as the server uses it: what each route takes and which scope it needs. Nothing of that is
// written down a second time in code.
type contract struct {
	operations map[string]*operation // by "METHOD /pattern", as chi names the route
}

// operation is one method of one route.
type operation struct {
	id           string
	public       bool       // needs no key
	scope        keys.Scope // needed, unless public
	parameters   []*openapi3.Parameter
	body         *openapi3.Schema // nil: takes no body
	bodyRequired bool
	form         bool // the body is a form that a page sends, and not JSON
}

func loadContract() (*contract, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Requests)
	if err != nil {
		return nil, fmt.Errorf("http: read the document: %w", err)
	}
	c := &contract{operations: map[string]*operation{}}
	for pattern, path := range document.Paths.Map() {
		for method, described := range path.Operations() {
			o, err := newOperation(path, described)
			if err != nil {
				return nil, fmt.Errorf("http: %s %s: %w", method, pattern, err)
			}
			c.operations[method+" "+pattern] = o
		}
	}
	return c, nil
}

func newOperation(path *openapi3.PathItem, described *openapi3.Operation) (*operation, error) {
	o := &operation{id: described.OperationID}
	o.public = described.Security != nil && len(*described.Security) == 0
	if !o.public {
		scope, _ := described.Extensions["x-scope"].(string)
		if _, err := keys.ParseScopes([]string{scope}); err != nil {
			return nil, fmt.Errorf("x-scope: %w", err)
		}
		o.scope = keys.Scope(scope)
	}
	for _, parameters := range []openapi3.Parameters{path.Parameters, described.Parameters} {
		for _, p := range parameters {
			o.parameters = append(o.parameters, p.Value)
		}
	}
	if described.RequestBody != nil {
		body := described.RequestBody.Value
		media, form := body.Content[typeJSON], body.Content[typeForm]
		if len(body.Content) != 1 || media == nil && form == nil {
			return nil, fmt.Errorf("a body that is neither JSON nor a form alone: %s", strings.Join(mediaTypes(body.Content), ", "))
		}
		if o.form = form != nil; o.form {
			media = form
		}
		o.body, o.bodyRequired = media.Schema.Value, body.Required
	}
	return o, nil
}

func mediaTypes(content openapi3.Content) []string {
	var types []string
	for name := range content {
		types = append(types, name)
	}
	return types
}
