// Package registry knows the agents that the operator allows, and opens one of them for an execution.
//
// # The model
//
// An agent of the configuration is laid over the built-in one of the same name. A request names an agent and never decides what is
// run: [Registry.Resolve] turns names, paths and aliases into the name of an agent, and [Registry.Open] starts that one.
//
//	agent config  what is run, with which arguments, variables, home and mode
//	bypasses      one table for each built-in agent of what lets it act without asking; it stops the start
//	launchers     shells and the like, behind which the agent's arguments cannot be checked; they need allowBypass
//	environment   what an agent is given of the server's, its home, and the secrets that are masked
//	probes        what an agent's program says of its version, and what a session of it offers
//
// # Offers
//
// The registry remembers what a new session of each agent has offered, of an execution or of a probe, for ten minutes and as long as
// the agent's program is the same. It shows that, and holds requests against it before anything is started.
//
// # Use
//
//	agents, err := registry.New(registry.Config{Agents: …, Starter: sandbox, Lookup: lookup})
//	agent, err := agents.Open(ctx, domain.Opening{Execution: execution, Host: host})
//
// The methods of a [Registry] may be called at once from several goroutines.
package registry
