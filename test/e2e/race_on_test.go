//go:build race

package e2e

// raceFlag builds the server the way the tests were built.
const raceFlag = "-race"
