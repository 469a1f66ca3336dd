// Package admission decides which requests are taken in, and turns them into what the sessions run.
//
// [Admission.Admit] takes the body of a creation and returns a [domain.Request] with nothing left open: every default is filled in, every
// name is known to its registry, every template is rendered, and earlier conversations are copied. It knows no HTTP. Whoever starts
// executions calls it: the API, and every other way in that may come.
//
// # The way of a request
//
//	Admit        an answered idempotency key, switched-off features, then the rest   request.go
//	block        an agent block is another spelling of a request                     block.go
//	rules        fields that contradict each other, all reported at once             rules.go kinds.go permissions.go templates.go
//	defaults     the operator's settings in the place of what was left out           request.go settings.go
//	registries   agents, models, tools, MCP servers, secrets, schemas                registries.go
//	chaining     conversations and outputs of executions that have ended             chain.go
//	templates    prompt, system prompt and instructions, rendered last               templates.go
//
// Further prompts, edits and resumptions have rules of their own (further.go), and so has a dry run of the policy (evaluation.go).
//
// # What callers owe
//
// A body fits its schema in the document: the contract checks types, lengths and unknown fields before. The caller's key
// ([keys.Principal]) is verified. It counts twice: its tenant is whose executions can be named, and its scopes decide whether it may read what
// other executions said.
//
// # Promises
//
//   - Nothing is stored and nothing is started here. A request that is refused leaves no trace.
//   - An error is a [domain.Error]: a code, a sentence that is safe to show, and JSON pointers into the body as its sender wrote it, also where that
//     was a block.
//   - An execution of another tenant is answered like one that does not exist.
//   - A secret in a part that counts letter by letter is refused ([Admission.RefuseSecrets]); everywhere else it is masked when the request is stored.
//
// An Admission keeps nothing between requests and may be used by many goroutines at once.
package admission
