// Package provider is the contract between the internal agent and those who answer it: vendors' APIs, local servers, a script.
//
// # The model
//
// A [Provider] says what the agent has to know of an API: its name and address, which settings it refuses, how much of a window it
// keeps for an answer, what its cache costs, and how to open a [Client]. A client asks one configured [Model]: Stream is one request
// and one answer, Probe tells whether a request would be worth it. Each provider is a folder beside this one and a line in the
// table of package llm, and knows no other provider.
//
// What every provider needs is here, once: [Setup.HTTPClient] bounds silence, keeps the status of an error and follows no redirect;
// [EventReader] reads server-sent events, [Document] and [Fields] what is in them; [Calls] puts the pieces of parallel calls together;
// [Size] bounds an answer; [Failures] says what went wrong, and whether the same request may do better.
//
// # Promises
//
//   - One request is one attempt. Nothing is repeated or redirected here, so that the log of the execution has every wait.
//   - A stream that just stops is a failure, not an end. Only the vendor's own reason ends an answer.
//   - What a vendor sends is bounded: a line, an event, an answer, its calls, the body of an error, and the time between two bytes.
//     Reading it takes time in proportion to its length, however it is cut up.
//   - Keys, addresses and the raw text of errors are in no [Error].
//   - A figure that is not reported stays nil.
//
// package providertest holds every provider to this.
//
// # A new provider
//
//	var Provider = provider.Provider{Name: "vendor", Address: "https://api.vendor.example/v1", Check: provider.NoThinkingTokens, Open: open}
//
// Its client sends by [Setup.HTTPClient], reads by [EventReader], and returns [Failures.Of] where a stream has ended without an answer.
// CONTRIBUTING.md has the steps.
//
// # State
//
// What a vendor wants back beside text and arguments (signatures, encrypted reasoning, its own ids of calls) is opaque: [Part]s of an
// [Answer] and of its [Call]s. Package llm puts them into a [State], which says who made it, and [Maker].StateOf gives them back to the
// model that made them and to no other. A client makes a conversation without state valid in its dialect: it may come from another
// model, from a person, or from a log that has lost it.
package provider
