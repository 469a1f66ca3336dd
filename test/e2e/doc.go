// Package e2e tests the real binary over real HTTP, on SQLite and on Postgres: what a user of the service can see, and
// what is left when its process is killed.
//
// A test gets a server of its own (server_test.go), a model that it scripts (model_test.go) and a client that knows
// the public API and nothing else (client_test.go). Each ends by holding every log against the invariants.
package e2e
