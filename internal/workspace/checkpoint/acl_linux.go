package checkpoint

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// The extended attributes of POSIX ACLs (acl(5)). Their values are the kernel's own, and go back as they were.
const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default" // of folders: what comes into being in them inherits it
)

// aclOf reads an ACL; empty: there is none, or the file system knows none.
func aclOf(file *os.File, name string) (string, error) {
	for size := 0; ; { // most files have none, and that costs no memory
		value := make([]byte, size)
		n, err := unix.Fgetxattr(int(file.Fd()), name, value)
		switch {
		case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP):
			return "", nil
		case err == nil && n <= size:
			return string(value[:n]), nil
		case err != nil && !errors.Is(err, unix.ERANGE):
			return "", &os.PathError{Op: "fgetxattr", Path: file.Name(), Err: err}
		}
		size = max(n, 2*size, 128)
	}
}

// setACL sets an ACL, or removes it where it is empty.
func setACL(file *os.File, name, value string) error {
	if value != "" {
		return unix.Fsetxattr(int(file.Fd()), name, []byte(value), 0)
	}
	err := unix.Fremovexattr(int(file.Fd()), name)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
