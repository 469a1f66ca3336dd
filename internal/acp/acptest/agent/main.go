// Command agent is the scripted ACP agent of the tests. What it is told, and in which language, stands in the package
// above it, acptest.
//
// It writes its JSON-RPC lines itself: a library for ACP would not let it send what is wrong.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	options, err := readOptions(flag.CommandLine, os.Args[1:])
	switch {
	case err != nil:
		os.Exit(2) // the flag package has said why
	case options.reexec == "stay" || options.reexec == "leave":
		os.Exit(again(options.reexec))
	default:
		newAgent(options).run(os.Stdin)
	}
}

// again starts this program a second time, as a child that has our input and output. It is how agents raise their own
// memory limit, and why the death of the process that was launched says nothing about the agent.
func again(manner string) int {
	child := exec.Command(os.Args[0], append(os.Args[1:], "--reexec=done")...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if manner == "stay" {
		_ = child.Wait() // its exit code is told below
		return child.ProcessState.ExitCode()
	}
	return 0
}
