//go:build race

package e2e

// raceFlags build the servers the way the tests were built.
var raceFlags = []string{"-race"}
