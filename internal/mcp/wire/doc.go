// Package wire is what lies between the SDK of the Model Context Protocol and a server: standard streams and HTTP.
//
// # The model
//
// An [Exchange] watches one request. [Watch] puts it into the context under which the SDK sends the request; each transport of this package finds it there.
// When the SDK has returned, [Exchange.Result] has the result as it stood on the wire, or an [*Error] that says what may have become of the request: the SDK
// knows neither. The transports are [Stdio], [HTTP] for the streamable transport of the SDK, and [NewSSE] on top of HTTP. [NamedClient] is for the addresses that
// a server names.
//
// # Promises
//
//   - A request that may have reached the server is never called unsent.
//   - An answer has at most [MaxAnswerBytes], with all that comes before it. What a program prints besides is skipped, and bounded.
//   - Nothing is connected to but the configured address, public addresses, and the configured host where its name is private. Credentials go to the configured
//     origin alone, and follow no redirect.
//   - A program that reads nothing, and a server that never ends, hold nobody up for longer than the context of the request.
package wire
