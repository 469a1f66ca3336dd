package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/api"
	"signoff/internal/keys"
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
	typeAny  = "*/*" // bytes, which the handler reads itself
)

// Document holds the operations of the contract by "METHOD /pattern", as the document writes it. The code repeats none of it.
type Document map[string]*Operation

// Operation is one method of one route.
type Operation struct {
	Public bool       // needs no key
	Scope  keys.Scope // needed, unless public

	id           string
	parameters   []*openapi3.Parameter
	body         *openapi3.Schema // nil: takes no body
	bodyRequired bool
	bodyType     string
}

// Load reads the document. An operation that needs a key and names no scope is an error.
func Load() (Document, error) {
	read, err := openapi3.NewLoader().LoadFromData(api.Requests)
	if err != nil {
		return nil, fmt.Errorf("contract: read the document: %w", err)
	}
	document := Document{}
	for pattern, path := range read.Paths.Map() {
		for method, described := range path.Operations() {
			o, err := newOperation(path, described)
			if err != nil {
				return nil, fmt.Errorf("contract: %s %s: %w", method, pattern, err)
			}
			document[method+" "+pattern] = o
		}
	}
	return document, nil
}

func newOperation(path *openapi3.PathItem, described *openapi3.Operation) (*Operation, error) {
	o := &Operation{id: described.OperationID}
	o.Public = described.Security != nil && len(*described.Security) == 0
	if !o.Public {
		scope, _ := described.Extensions["x-scope"].(string)
		if _, err := keys.ParseScopes([]string{scope}); err != nil {
			return nil, fmt.Errorf("x-scope: %w", err)
		}
		o.Scope = keys.Scope(scope)
	}
	for _, parameter := range slices.Concat(path.Parameters, described.Parameters) {
		o.parameters = append(o.parameters, parameter.Value)
	}
	if described.RequestBody == nil {
		return o, nil
	}
	body := described.RequestBody.Value
	types := slices.Sorted(maps.Keys(body.Content))
	if len(types) != 1 || types[0] != typeJSON && types[0] != typeForm && types[0] != typeAny {
		return nil, fmt.Errorf("a body that is neither JSON nor a form nor bytes alone: %s", strings.Join(types, ", "))
	}
	o.bodyType, o.body, o.bodyRequired = types[0], body.Content[types[0]].Schema.Value, body.Required
	return o, nil
}
