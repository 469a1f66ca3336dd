// Package llm is the internal agent: a loop between a model and the tools.
//
// # The model
//
// A [Registry] knows the configured models by name and opens a [domain.Agent] for an execution. The agent answers one
// prompt at a time. It sends the conversation to the model, hands on what the model thinks and says as it arrives,
// and, when the answer asks for tools, has every call judged by the host, runs what may run, and asks again with the
// results. It stops when the model stops asking.
//
// One request to a model is an attempt; the attempts that lead to one answer are a round; rounds make a turn. What
// differs between vendors is behind the contract of package provider, with a folder each: openai for all that speaks
// chat completions, responses for OpenAI's Responses API, anthropic for Anthropic's messages, demo for a scripted model that needs no key. The table in
// providers.go lists them.
//
// The files are read downwards: registry.go opens an agent, prompt.go is its loop, ask.go, context.go and attempts.go get one answer, and
// turn.go is what they share. What an agent keeps between its prompts has an owner each: lineup (fallback.go), account (cost.go) and
// conversation. runner.go brings calls to their end. No file uses one that stands above it.
//
// What a model reads is made anew for each request: the system prompt in its layers (safety, which nothing replaces;
// persona; the rules of the execution's kind, which nothing replaces either; working directory; instructions; the schema of the
// answer; the notes of earlier executions), the tools that the execution has, and the conversation. Near the model's limit, old tool results are
// cut to a line each, see conversation.go, or the model summarizes what is older, see summary.go. A model that fails for
// good makes room for the next one of the request, for as long as the agent is open; see fallback.go.
//
// What an execution is for, its kind, decides over prompt and tools; see kind.go and toolset.go. One that generates blocks ends its
// turn by handing them in; see submit.go. A tool of the client is run by the client: the loop waits for it as for a person.
//
// A model wants more of its answers back than what they say: signatures, encrypted reasoning, its own ids. That is opaque state. It goes
// back to the model that made it and to no other, unaltered or not at all; see state.go and package provider. The log keeps it with the
// answer's thought, as far as the answer has one and it is known when the thought ends; the rest lives as long as the turn.
//
// # Promises
//
//   - The host hears of everything before it happens: a call is requested, then authorized, then run, then completed,
//     and each call has exactly one of these ends: the host's refusal or our completion.
//   - A tool call is acted upon only after its answer has come to its end, so an attempt that breaks is always safe to
//     repeat. What it had said is closed as interrupted, and the next attempt speaks in a new message.
//   - A stream that just stops is a failure, not an end. Only a finish reason ends an answer.
//   - Every wait before a repetition is announced first, with its time, which another process obeys (retry.go). Nothing is repeated that
//     cannot get better. What somebody may mend, and a provider that is away for too long, is domain.ErrProviderUnavailable.
//   - A content filter of the provider is a failure that another model may not have. A model that declines has judged the task: no other one is
//     asked. The turn of either, and of an answer that was cut at a limit of tokens, ends with a stop reason and an error that says it in words.
//   - An answer of nothing, and one that asks for hundreds of calls, is asked for once more. The first is then taken as it
//     is, the second is a failure.
//   - All calls of an answer have a result before the model is asked again, in the order in which it asked.
//   - An execution that was cut off between two of these steps goes on where its history ends: calls without a result
//     are finished first.
//   - A turn that generates blocks hands in one generation, or fails: after three submissions that cannot be used, or where the
//     model hands in nothing, also after it was told to. A submission that a restart has left open is handed in again, and no
//     model is asked.
//   - Usage is a sum over the answers of the execution, with what was told of those that broke off; what the provider
//     does not report stays nil. A cost that leaves out an answer is no cost: it is nil from there on. See cost.go for what
//     cached tokens cost.
//   - State that is too large, holds a secret, or was in a request that its provider calls wrong, for a reason that may be the state, is dropped whole, with an event. The
//     conversation is valid without it for each provider, as it is after a fallback.
//   - A model sees its own calls as it made them. Where a person had something else run, the result says what.
//   - Cutting results changes what the model is sent, never the log, which says what was cut: a process that goes on cuts the same. How
//     full the window is, is what the provider counted last, and a guess at what came since; the log has that count, too.
//   - The results that the model has not gone on from are left whole, until the provider refuses them. A refusal as too
//     long is tried once more without older results, and once more with the last round's results shortened to their
//     beginning and end.
//   - A model is told of the tools that it has, and no other one is run. A question to a person is never run as a tool.
//   - The values of secrets, as far as [Config] can mask them, are not sent to a provider, and a tool's result is masked
//     before it is told. A call whose arguments hold one is refused before anybody judges it, however it is escaped.
//   - What a provider sends is bounded; package provider has the bounds.
//   - Keys, addresses and the raw text of errors never reach an event. The environment is not read: everything is in
//     [Config].
//   - When ctx ends, Prompt returns and leaves nothing running. It closes no message and gives no call an outcome: what
//     became of what was cut off is the session's to write.
//
// # Use
//
//	registry, err := llm.NewRegistry(llm.Config{
//		Models:  map[string]llm.Model{"local": {Provider: "openai", Model: "qwen3", BaseURL: "http://127.0.0.1:11434/v1"}},
//		Default: "local",
//	}, tools.NewRegistry(tools.Bash{}, tools.Read{}))
//	agent, err := registry.Open(ctx, execution)
//	stop, err := agent.Prompt(ctx, host, prompt)
package llm
