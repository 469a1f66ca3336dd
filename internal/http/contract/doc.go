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
// value; a pointer is nil then. The type must name each parameter of the operation once, with a Go type that can hold it, and no
// others; otherwise NewReader fails and the server does not start.
//
// # Refused requests
//
// The package uses the schemas of kin-openapi, and not its request filter: the filter accepts duplicate names, trailing data and unknown
// query parameters, answers a wrong content type with 400, and prints the sent value in its errors. Two readers of the same bytes must
// not see different values, because the server must run what a person has approved. So a body with a duplicate name, with data behind
// its value, with broken UTF-8 or with half a surrogate pair is refused.
//
//   - An unreadable request is [domain.CodeMalformed]; a value that is not allowed is [domain.CodeInvalid], with one line for each wrong part.
//   - No error holds a value of the input.
//   - A body has 1 MiB, 64 levels, and ten seconds to arrive.
//
// Many goroutines may use readers and the document at once.
package contract
