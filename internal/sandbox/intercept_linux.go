package sandbox

import (
	"io"
	"os"
	"syscall"
)

// Intercept is the hidden entry point of the stages: package early calls it, before main. It returns at once in a process that was
// not started as a stage, and never in one that was. The stages leave without the runtime's farewell, for which a
// binary built with the race detector takes a second.
func Intercept() {
	if exit, shown := showProcesses(os.Args); shown {
		syscall.Exit(exit)
	}
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case superviseArg:
		syscall.Exit(supervise())
	case watchdogArg:
		syscall.Exit(watchdog(os.Args[2:]))
	case confineArg:
		syscall.Exit(confine(os.Args[2:]))
	case holdArg:
		_, _ = io.Copy(io.Discard, os.Stdin)
		syscall.Exit(0)
	}
}
