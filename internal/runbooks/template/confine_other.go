//go:build !linux

package template

import (
	"os"
	"syscall"
	"time"
)

// Here the clock alone bounds the work of a child.
const (
	boundsWork   = false
	usualTimeout = 2 * time.Second
)

// confine has no limits to take here: the memory limit of Linux has no match. What remains is the bound on the stack, and
// that the server kills a child after its time.
func confine() error { return nil }

func alone() *syscall.SysProcAttr { return nil }

func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}
