// Package contract reads requests strictly against the document in api/openapi.yaml.
//
// [Load] reads the document, and knows for each operation which parameters and which body it takes and which scope it needs.
// [NewReader] binds the type of a request to an operation:
//
//	type editGeneration struct {
//		ID   string             `path:"id"`
//		Key  string             `header:"Idempotency-Key"`
//		Body api.EditGeneration // a pointer where the document says that the body is optional
//		Hash contract.Hash      // of the body
//	}
//
// Fields of embedded structs count as the type's own. A parameter that was not sent has the document's default, or else the zero
// value; a field that is a pointer is nil then, and has no default. The type must name each parameter of the operation, each once and by
// a Go type that can hold it, and no others: otherwise there is no reader, and the server does not start.
//
// # What is refused
//
// The checks of kin-openapi are used by schema, not by its request filter: the filter takes duplicate names, trailing
// data and unknown query parameters, answers a wrong type of content with 400, and prints the sent value in its errors.
// Two readers of the same bytes must not see different things, because what a person approves must be what runs. So a body is
// refused that names something twice, that goes on behind its value, that is no UTF-8 or holds half a surrogate pair.
//
//   - What cannot be read is [domain.CodeMalformed], a value that is not allowed is [domain.CodeInvalid], with one line for each wrong part.
//   - No error holds a value of the input.
//   - A body has 1 MiB, 64 levels, and ten seconds to arrive.
//
// Readers and the document may be used by many goroutines at once.
package contract
