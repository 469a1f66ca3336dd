package checkpoint

import (
	"time"

	"golang.org/x/sys/unix"
)

// createdAt is when the file at a path came into being; zero: the file system does not know, or the file is gone.
func createdAt(path string) time.Time {
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &stat); err != nil || stat.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec))
}
