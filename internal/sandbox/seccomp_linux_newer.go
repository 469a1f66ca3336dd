//go:build linux && !amd64

package sandbox

// oldModeCalls are those that newer architectures do not have.
var oldModeCalls []modeCall
