//go:build !linux

package harness

import "syscall"

// dieWithStarter does nothing where the kernel cannot do it: a test that is killed leaves its processes.
func dieWithStarter(*syscall.SysProcAttr) {}
