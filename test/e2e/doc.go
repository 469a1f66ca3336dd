// Package e2e tests the real binary over real HTTP, on SQLite and on Postgres: what a user of the service can see, and
// what is left when its process is killed.
//
// A test stands here only where it needs the process, a real socket, two replicas or an upgrade: its kills and drains, the command
// line, agents that misbehave, secrets that must be nowhere. A walk or two go through each kind of execution, and the lists
// that begin with TestSeed are the acceptance of runbooks. Everything else is cheaper to prove in the package that keeps it.
//
// A test gets a server of its own (server_test.go), a model that it scripts (model_test.go) and a client that knows
// the public API and nothing else (client_test.go); what is below them is in test/harness. Each ends by holding every log against the invariants.
//
// Tests of external agents share a server whose registry has scripted ones, each in a folder of its own
// (acp_harness_test.go).
//
// Every server has two secrets, and whatever the suite sees or leaves is looked through for them (canary_watch_test.go).
// A model that obeys whatever it reads plays a table of attacks (attacker_test.go, attacks_test.go).
package e2e
