package folders

import (
	"os"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// share makes a new file share the bytes of another one until somebody writes one of them. It returns an error if the file system cannot do so.
func share(to, from *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// reserve is the number of bytes that a copy leaves free: the event log may lie on the same disk.
const reserve = 1 << 30

// roomFor returns an error if the disk has no room for a number of bytes.
func roomFor(to *os.File, bytes int64) error {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(to.Fd()), &stat); err != nil {
		return err
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < uint64(bytes)+reserve {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "The disk of this server has too little room for a copy of the folder.")
	}
	return nil
}
