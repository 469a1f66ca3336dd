// Package http is the HTTP side of Signoff: it turns requests into calls, and their results into responses of the contract.
//
// # The way of a request
//
//	observe    assigns the request id, counts and logs, turns a panic into a 500        observe.go
//	headAsGet  HEAD is GET without a body                                               head.go
//	protect    headers too large, foreign Host (421), page of another origin (403)      protect.go
//	routing    the table of operations; 404, 405                                        routes.go
//	authorize  401, 403                                                                 auth.go
//	reader     query, headers and body, strictly as the document says                   package contract
//	handler    one method per operation, a file per resource                            executions.go approvals.go events.go console.go …
//	admission  rules, defaults, registries, chaining, templates of a new execution      package admission
//	wire       types of the contract and of the domain                                  wire.go permissions.go runbook.go
//	respond    status, headers and body                                                 response.go
//
// [Server.table] is the list of operations. A line binds one of them to the method that answers it, and the type of the method's request
// says where path, query, headers and body go. The server does not start if a line does not fit the document. Resources that need little of
// the server have handlers of their own: rules, webhooks, links, registries.
//
// Every error on this way is an error value. [Server.fail] turns it into application/problem+json by one table from codes to statuses, in
// problem.go; no other code chooses the status of a problem.
//
// # The document decides
//
// Routes, parameters, bodies and scopes are in api/openapi.yaml. The types of bodies and responses are generated from it, requests are
// checked against it, and the scope of an operation is read from it. Tests compare router, responses and events with it. Rules that it
// cannot express, such as fields of one source that exclude each other and names of the operator's registries, are in package admission.
//
// # Streams
//
// Package stream writes events, live and in pages (events.go, feed.go). A stream's line in the log is written when the stream ends. A client
// that disconnects cancels nothing: only [Server.cancelExecution] and [Server.deleteExecution] cancel an execution, and
// [Server.closeExecution] lets it end.
//
// # The console
//
// The page is shown at / to clients that prefer HTML; package console has its files. A link on another site may lead to the page; all
// other requests of another site's pages are refused (protect.go).
//
// # Promises
//
//   - No input causes a 5xx, and nothing is half-created: all checks come before the first call.
//   - A request with a used idempotency key is not checked, looked up or rendered again: the first response stands.
//   - A key that may only create executions cannot read others: their conversations need the scope for reading them.
//   - An object of another tenant gets the same response as one that does not exist.
//   - No response, log line or metric holds a token, a body, or the text of an error without a code.
//   - No problem holds a secret, and this package stores none: it masks notes and reasons. It refuses secrets in parts that must stay as they are
//     (matchers, patterns, edited arguments, answers), see [admission.Admission.RefuseSecrets].
//
// net/http responds by itself to requests that it cannot read (a request line that is not HTTP, no Host header in HTTP/1.1, too large headers, an
// unknown Expect). The connection replaces these responses by problems (badrequest.go).
package http
