package tools_test

import (
	"os"
	"syscall"
)

// noNetwork starts a process in a network with a loopback that is down, and nothing else.
func noNetwork() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
	}
	return attributes
}
