//go:build !linux

package checkpoint

import (
	"errors"
	"os"
)

// Elsewhere no file is put in the place of another one: the sandbox that checkpoints need is there on Linux only.

func exchange(int, string, string) error { return errors.ErrUnsupported }

func moveTo(int, string, string) error { return errors.ErrUnsupported }

func reserve(*os.Root, string) (inUse bool, release func()) { return false, func() {} }

func immutable(int, string) bool { return false }
