// Package e2e tests the real binary over real HTTP, on SQLite and on Postgres: what a user of the service can see, and
// what is left when its process is killed.
//
// A test gets a server of its own (server_test.go), a model that it scripts (model_test.go) and a client that knows
// the public API and nothing else (client_test.go). Each ends by holding every log against the invariants.
//
// Tests of external agents share a server whose registry has scripted ones, each in a folder of its own
// (acp_harness_test.go).
//
// Every server has two secrets, and whatever the suite sees or leaves is looked through for them (canary_watch_test.go).
// A model that obeys whatever it reads plays a table of attacks (attacker_test.go, attacks_test.go).
package e2e
