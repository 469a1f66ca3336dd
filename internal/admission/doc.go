// Package admission decides which requests are accepted, and turns them into requests that the sessions run.
//
// [Admission.Admit] takes the body of a creation and returns a complete [domain.Request]: every default is set, every name is in its
// registry, every template is rendered, and earlier conversations are copied. The package knows no HTTP. Every front that starts executions
// calls it.
//
// # The way of a request
//
//	Admit        a used idempotency key, disabled features, then the rest   request.go
//	block        an agent block is another form of a request                block.go
//	rules        fields that exclude each other, all reported at once       rules.go kinds.go permissions.go templates.go
//	defaults     the operator's settings for missing fields                 request.go settings.go
//	model        the model of a request that names none                     model.go
//	registries   agents, models, tools, MCP servers, secrets, schemas       registries.go, mcpservers.go
//	delegation   the ceiling of children                     delegation.go
//	chaining     conversations and outputs of ended executions              chain.go
//	templates    prompt, system prompt and instructions, rendered last      templates.go
//
// Further prompts, edits and resumptions have their own rules (further.go), and so has a dry run of the policy (evaluation.go).
//
// [Admission.Child] assembles the request of a child in the same way: the call of its parent is the body, and the ceiling of the parent bounds the agent profile
// (child.go, meet.go).
//
// # What callers owe
//
// A body fits its schema in the document: the contract checks types, lengths and unknown fields before. The caller's key
// ([keys.Principal]) is verified. Only executions of its tenant can be named, and its scopes decide whether it may read them.
//
// # Promises
//
//   - This package stores and starts nothing. A refused request leaves no trace.
//   - An error is a [domain.Error]: a code, a safe sentence, and JSON pointers into the body as its sender wrote it, even if that was a block.
//   - An execution of another tenant is answered like one that does not exist.
//   - A secret in a part that must not be masked is refused ([Admission.RefuseSecrets]); other secrets are masked when the request is stored.
//
// An Admission has no state and may be used by many goroutines at once.
package admission
