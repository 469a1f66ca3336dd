package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Hash is the hash of a body, independent of the order and spacing of its JSON. Two requests with one idempotency key must have the same.
type Hash []byte

// Reader reads the requests of one operation into values of the type Request.
type Reader[Request any] struct {
	operation  *Operation
	parameters [][]int // the fields of the operation's parameters, in the order of these
	body, hash []int   // fields; nil: there is none
}

// NewReader binds a type to an operation. The package page describes the type.
func NewReader[Request any](o *Operation) (*Reader[Request], error) {
	reader := &Reader[Request]{operation: o, parameters: make([][]int, len(o.parameters))}
	unbound := map[string]int{}
	for i, p := range o.parameters {
		unbound[p.In+" "+p.Name] = i
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		in, name := parameterOf(field)
		switch {
		case field.Anonymous:
		case field.Type == reflect.TypeFor[Hash]():
			reader.hash = field.Index
		case in == "" && field.Name == "Body":
			if err := o.checkBodyField(field.Type); err != nil {
				return nil, err
			}
			reader.body = field.Index
		default:
			i, known := unbound[in+" "+name]
			if !known || !canHold(field.Type, o.parameters[i].Schema.Value) {
				return nil, fmt.Errorf("the document has no parameter that the field %s can hold", field.Name)
			}
			delete(unbound, in+" "+name)
			reader.parameters[i] = field.Index
		}
	}
	if len(unbound) > 0 {
		return nil, fmt.Errorf("no field is bound to: %s", strings.Join(slices.Sorted(maps.Keys(unbound)), ", "))
	}
	if o.body != nil && reader.body == nil {
		return nil, fmt.Errorf("no field is bound to the body")
	}
	return reader, nil
}

// parameterOf reads the tag of a field.
func parameterOf(field reflect.StructField) (in, name string) {
	for _, in := range []string{openapi3.ParameterInPath, openapi3.ParameterInQuery, openapi3.ParameterInHeader} {
		if name, tagged := field.Tag.Lookup(in); tagged {
			return in, name
		}
	}
	return "", ""
}

func (o *Operation) checkBodyField(of reflect.Type) error {
	switch isPointer := of.Kind() == reflect.Pointer; {
	case o.body == nil:
		return fmt.Errorf("the document has no body")
	case (o.bodyType == typeAny) != (of == reflect.TypeFor[*Raw]()):
		return fmt.Errorf("the field Body must be a *Raw exactly where the body is bytes")
	case o.bodyType == typeAny:
		return nil
	case o.bodyRequired == isPointer:
		return fmt.Errorf("the field Body must be a pointer exactly where the body is optional")
	default:
		return nil
	}
}

// canHold reports whether the type can hold every value of the schema.
func canHold(of reflect.Type, schema *openapi3.Schema) bool {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case schema.Type.Is(openapi3.TypeArray):
		return of.Kind() == reflect.Slice && canHold(of.Elem(), schema.Items.Value)
	case schema.Type.Is(openapi3.TypeInteger):
		return of.Kind() == reflect.Int || of.Kind() == reflect.Int64
	case schema.Type.Is(openapi3.TypeBoolean):
		return of.Kind() == reflect.Bool
	default:
		return of.Kind() == reflect.String
	}
}
