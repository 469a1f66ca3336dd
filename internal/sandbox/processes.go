package sandbox

import "time"

// The list of the host's processes has a place of its own on the command's loopback.
const (
	processHost  = "processes.signoff"
	processRelay = processHost + ":1"
)

// HostProcess is one process of the machine.
type HostProcess struct {
	PID, PPID int
	User      string
	State     string  // as ps shows it: R, S, D, Z …
	CPU       float64 // percent of one processor, since its start
	Memory    uint64  // resident bytes
	Virtual   uint64
	Started   time.Time
	Time      time.Duration // of processors
	Name      string
	Arguments string // masked; empty for a thread of the kernel
}
