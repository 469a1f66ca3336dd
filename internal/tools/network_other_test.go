//go:build !linux

package tools_test

import "syscall"

// noNetwork is known on Linux alone; elsewhere nothing of the test leaves by the loopback of the machine either, since only refusals are compared.
func noNetwork() *syscall.SysProcAttr { return nil }
