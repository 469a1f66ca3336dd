// Package agents drives real coding agents, each as its maker publishes it, over the Agent Client Protocol. Our own
// doubles speak ACP as we read it; these speak it as they do.
//
// `make test-agents` runs it, `make test` does not: about two gigabytes are installed at the first time. All test files
// therefore carry the build tag agents.
//
// # What is real and what is not
//
// The agents are real and so are the tools that they run. Their model is not: one @copilotkit/aimock answers all of
// them on a port of loopback, with the protocol that each speaks (chat completions, Responses, Anthropic's messages,
// Gemini), from fixtures.json. Nothing leaves the machine, no account and no key is needed.
//
// # Parts
//
//   - npm/NAME holds a locked manifest for each agent, for the mock and for the Node that runs them. A lock file names
//     versions and hashes but no registry; `npm install --package-lock-only --ignore-scripts` with npm's setting
//     omit-lockfile-registry-resolved makes it anew. No package's scripts are run.
//   - [harness.Cache] keeps what was installed, under the hash of its lock file.
//   - The table says of each agent how it is started, which environment and files it needs, how it is brought to ask a
//     person, and in what it differs.
//   - The scenarios are written against an interface, conversation, that two drivers have. One speaks JSON lines with the
//     agent and knows nothing of Signoff (TestRaw): it proves that agents and fixtures do what the scenarios expect of
//     them. The other one speaks with the server's binary, by its public API alone (TestSignoff).
//   - The server's file says of an agent where its program and its home are. All else, such as arguments, mode, and what
//     keeps it from obeying a repository, is Signoff's built-in row of that name, which is thereby what is tested.
//   - After each scenario of TestSignoff, the log is held against the invariants of internal/events/eventstest, the
//     answers are counted, the key is looked for in all that can be seen, and no process may be left.
//
// `make test-agents` runs all but TestRaw. Where a scenario fails in TestSignoff, TestRaw shows whether the agent has
// changed:
//
//	scripts/test-agents.sh -run TestRaw/claude
//
// Agents take 70 to 510 MiB each, so that one runs at a time. The test process makes itself the reaper of all that its
// agents leave behind; after each scenario nothing of an agent may live.
package agents
