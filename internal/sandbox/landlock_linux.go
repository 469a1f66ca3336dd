package sandbox

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func noNewPrivileges() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// Landlock is the second barrier behind the mounts: a command reaches only mounted paths, and of those only the ones that Landlock
// names, should a mount ever let something through.
const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	landlockTouch = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | landlockDevice
	// landlockFile are the rights that make sense for a file; the kernel refuses others.
	landlockFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// landlockDevice came with ABI 5, so it is cut off for older kernels.
	landlockDevice = unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// landlockABI asks the kernel; 0 is a kernel without Landlock.
func landlockABI() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// landlockRights lists the rights that each ABI can restrict: 13 at first, then refer, truncate and ioctl on devices.
// Those that came later concern sockets, and the network is not there.
func landlockRights(abi int) uint64 {
	switch {
	case abi >= 5:
		return 1<<16 - 1
	case abi >= 3:
		return 1<<15 - 1
	case abi == 2:
		return 1<<14 - 1
	default:
		return 1<<13 - 1
	}
}

// landlock restricts this thread, strictly: either as far as this kernel can, or it fails.
func (p plan) landlock() error {
	if p.Landlock < 2 {
		return nil // ABI 1 forbids every rename between folders, which breaks more than it protects
	}
	rights := landlockRights(p.Landlock)
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)),
		unsafe.Sizeof(attributes.Handled_access_fs), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	if err := p.landlockRules(int(fd), rights); err != nil {
		return err
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func (p plan) landlockRules(ruleset int, rights uint64) error {
	rules := map[string]uint64{
		"/": unix.LANDLOCK_ACCESS_FS_READ_DIR, "/etc": landlockRead, "/proc": landlockRead, "/dev": landlockTouch,
		"/tmp": rights, "/dev/shm": rights,
	}
	for _, folder := range systemFolders {
		rules[folder] = landlockRead
	}
	for _, one := range p.View.Shown {
		allowed := uint64(landlockRead)
		if one.Write {
			allowed = rights
		}
		if info, err := os.Stat(one.target()); err == nil && !info.IsDir() {
			allowed &= landlockFile
		}
		rules[one.target()] = allowed
	}
	if len(p.View.Copied) > 0 || len(p.View.Programs) > 0 {
		rules[lentFolder] = landlockRead
	}
	rules[p.Dir] = rights
	for path, allowed := range rules {
		if err := landlockAllow(ruleset, path, allowed&rights); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func landlockAllow(ruleset int, path string, allowed uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: allowed, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
