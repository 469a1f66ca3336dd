package store

import (
	"path/filepath"
	"syscall"
)

// remote are file systems of another machine, by the numbers of statfs(2).
var remote = map[int64]string{
	0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2",
}

const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// FileSystem tells about the file system of the SQLite file. A link is followed, as SQLite does.
func (s *Store) FileSystem() (FileSystem, error) {
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return FileSystem{}, s.failed("find the file system", err)
	}
	var at syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &at); err != nil {
		return FileSystem{}, s.failed("look at the file system", err)
	}
	found := FileSystem{Local: true, Kept: true, Free: at.Bavail * uint64(at.Bsize)}
	kind := int64(at.Type) & 0xffffffff //nolint:unconvert // it has 32 bits on some machines
	switch name, far := remote[kind]; {
	case far:
		found.Name, found.Local = name, false
	case kind == tmpfs:
		found.Name, found.Kept = "tmpfs", false
	case kind == ramfs:
		found.Name, found.Kept = "ramfs", false
	}
	return found, nil
}
