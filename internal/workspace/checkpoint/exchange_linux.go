package checkpoint

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// exchange swaps two names of one folder (renameat2(2)).
func exchange(folder int, one, other string) error {
	return unix.Renameat2(folder, one, folder, other, unix.RENAME_EXCHANGE)
}

// moveTo gives a file a name that nothing has.
func moveTo(folder int, from, to string) error {
	return unix.Renameat2(folder, from, folder, to, unix.RENAME_NOREPLACE)
}

// reserve reports whether somebody has the file open for writing: who writes to a file by a descriptor goes on when its name is gone. From then on until
// release nobody opens it for writing unnoticed. It is a read lease (fcntl(2), F_SETLEASE), which the owner of a file and root may take; for others, and on a file
// system without leases, nobody can say, and the answer is no.
func reserve(root *os.Root, name string) (inUse bool, release func()) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, func() {}
	}
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN), func() { file.Close() }
}

// immutable reports whether nobody may change or remove the file (chattr(1), +i and +a).
func immutable(folder int, name string) bool {
	var about unix.Statx_t
	err := unix.Statx(folder, name, unix.AT_SYMLINK_NOFOLLOW, 0, &about)
	return err == nil && about.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
}
