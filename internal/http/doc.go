// Package http is the HTTP side of Signoff: it turns requests into calls and what comes back into the contract's words.
//
// # The way of a request
//
//	observe   names the request, counts and logs it, turns a panic into a 500          observe.go
//	takeHead  HEAD is GET without a body                                               head.go
//	guard     head too large, foreign Host (421), page of another origin (403)         guard.go
//	routing   the table of operations; 404, 405                                        routes.go
//	authorize 401, 403                                                                 auth.go
//	reader    query, headers and body, strictly as the document says                   package contract
//	method    one per operation, a file per resource                                   executions.go approvals.go events.go console.go …
//	admission rules, defaults, registries, chaining, templates of a new execution      package admission
//	wire      the contract's shapes and the domain's                                   wire.go permissions.go runbook.go
//	respond   status, headers and body                                                 response.go
//
// [Server.table] is the list of operations. A line binds one of them to the method that answers it, and the type of the method's request
// says where path, query, headers and body go. A line that does not fit the document keeps the server from starting.
//
// Every error on this way is an error value. [Server.fail] turns it into application/problem+json by one table from
// codes to statuses, in problem.go; no other code picks a status for a problem.
//
// # The document decides
//
// Routes, parameters, bodies and scopes are in api/openapi.yaml. The types of bodies and answers are generated from it, requests are
// checked against it, and the scope that an operation needs is read from it. Tests hold router, answers and events against it.
// What it cannot say, such as fields of a source that do not go together and names of the operator's registries, is in package admission.
//
// # Streams
//
// Package stream writes events, live and in pages (events.go, feed.go). The line of a stream in the log comes when it ends. A client that goes
// away cancels nothing: nothing here cancels an execution but [Server.cancelExecution] and [Server.deleteExecution], and
// [Server.closeExecution] lets it come to its end.
//
// # The console
//
// The page is shown at / to those who prefer HTML; package console has it and its files. A person may come to it by a link from another
// site; all else that a page of another site sends is refused as before (guard.go).
//
// # Promises
//
//   - No input causes a 5xx, and nothing is half-created: all checks come before the first call.
//   - A request with an idempotency key that was used is not checked, looked up or rendered again: its first answer stands.
//   - Who may only create executions learns nothing of others: what they said needs the scope that reading them needs.
//   - Another tenant's things are answered exactly like what does not exist.
//   - No answer, log line or metric holds a token, a body, or the text of an error that has no code.
//   - No problem holds a secret, and none is stored from here: notes and reasons are masked. What counts letter by letter
//     (matchers, patterns, edited arguments, answers) is refused where it holds one, see [admission.Admission.Literal].
//
// What net/http itself answers before a handler is called (to a request line that is not HTTP, no Host header in HTTP/1.1, a head that
// is too large, an unknown Expect) is text or nothing; the connection puts a problem in its place.
package http
