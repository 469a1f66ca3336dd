// Package acp is the client of the Agent Client Protocol: what makes an external agent, a program that somebody else
// wrote, a [domain.Agent].
//
// # The model
//
// An open agent is one process with one session in it. Between the two programs there are four layers, and each is ignorant of
// the next:
//
//	process     program     starts under the supervisor, is drained, ends or is ended
//	connection  wire        JSON-RPC over the process's pipes; order, limits, the end
//	translation translator  what the agent says, as events for the host
//	turn        agent       a prompt and its answer; cancelling; what the agent asks of us
//
// Package registry knows which agents there are and opens them with a [Config]; package settings reads what an agent offers to choose
// from.
//
// The agent runs its own tools, as itself: what it reports of them is passed on, and what it asks a person about is
// asked. It may also ask us to read, to write and to run something; those requests are calls of ours, are judged like
// those of the internal agent, and are offered only where its configuration and the execution allow it.
//
// # Promises
//
//   - What the agent says is kept in its own words, once: in an event that says what it means, or beside it. Unknown
//     kinds, odd fields and vendors' notifications are passed on, never dropped, and never end anything. A message that
//     is too long, or nested deeper than [domain.MaxDepth], is refused where somebody waits for it, and told of by its beginning.
//   - Events come in the order of the wire. A call is announced before anybody is asked about it, also where the agent
//     does not announce it. A call has one start and one outcome at most; what has none at the end of the turn gets it from
//     the session.
//   - The work of a subagent of the agent is below a call, and is no answer of the agent. A request in an unannounced session is answered
//     at once, and reported.
//   - Ids of messages and calls are never used twice in an execution, whatever the agent does with its own.
//   - An agent's question goes to a person with its options as they are, and the answer is one of them by id, or that
//     nobody says anything. No option is ever chosen here.
//   - When the context of a turn ends, everything that the agent waits for is answered, it gets a cancel, and if it
//     has not ended its turn after three seconds, it is killed. Who cancelled is known here and not read from the answer.
//   - A process that ends is noticed at once, and told with the last words of its standard error: as the turn's failure,
//     or between turns as a fact.
//   - Resuming an earlier session repeats no event, whenever the agent repeats its updates: the log shows what is not new. What
//     may be new is shown.
//   - The options of the agent are shown when its session begins, and after each change. What is chosen is set before
//     the first prompt, or before the prompt that chooses it; an agent that does not take it is asked nothing.
//   - Unknown usage stays unknown: zeros from an agent that does not count are not counted.
//   - Secrets that the operator's configuration hands to the agent are hidden in everything that is kept or shown of what
//     it sends. What is done is what was shown: a request to read, write or run something that holds one is refused.
//   - Close ends the process and all that it has started, in about five seconds at the most.
//
// # Use
//
//	agent, err := acp.Open(ctx, acp.Config{Process: …, Starter: sandbox}, domain.Opening{Execution: execution, Host: host})
//	stop, err := agent.Prompt(ctx, host, domain.Prompt{Turn: 1, Text: "Say hello"})
//	err = agent.Close()
//
// The protocol: https://agentclientprotocol.com/protocol/overview. The package acptest has a scripted agent for tests.
package acp
