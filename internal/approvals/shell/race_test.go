//go:build race

package shell

// The race detector makes the same work ten times as slow, and has pools forget what they hold, so that it takes more memory.
var sizes = []int{1, 8, 60, 256}

const maxMemory = 512 << 20
