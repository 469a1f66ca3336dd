//go:build !race

package shell

// sizes of growing lines: up to beyond what is judged at all.
var sizes = []int{1, 8, 32, 60, 256, 4096, 20_000}

// maxMemory is what it may take to judge one line, with all that is given back meanwhile.
const maxMemory = 64 << 20
