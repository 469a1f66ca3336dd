package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sizes of the file systems in memory inside. The count of memory does not see them, so they have bounds of their own.
const (
	tmpSize = 1 << 30
	shmSize = 256 << 20

	rootSize = 1 << 20
)

// Mounts of the system carry no privileges and no devices.
const (
	writableMount = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnlyMount = writableMount | unix.MOUNT_ATTR_RDONLY
	deviceMount   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// devices are the devices that programs expect in /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// deviceLinks are those of /dev.
var deviceLinks = map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}

// Of /proc, the first can be written by uid 0 even without capabilities, which reaches the host: core_pattern names a
// program that the kernel runs as root. The second tells of the host's memory and keys.
var (
	procReadOnly = []string{"sys", "sysrq-trigger", "irq", "bus", "fs"}
	procCovered  = []string{"kcore", "keys", "timer_list", "latency_stats", "sched_debug", "acpi", "scsi"}
)

// staging is where the new root is put together: any folder will do, and this one is everywhere.
const staging = "/tmp"

// root is a mount tree under construction. The first error stops all further work.
type root struct {
	err error
}

// mountCopy is a copy of a mount, held by its descriptor, not yet in any tree. All copies are made while the old root is
// still visible, so the new root can cover the folder that it is built on.
type mountCopy struct {
	fd     int
	folder bool
	target string
}

// buildRoot makes the workspace and the system all that there is, and moves in.
func (p plan) buildRoot() error {
	unix.Umask(0)
	defer unix.Umask(0o022)
	r := &root{}
	system := r.copySystem(p.View)
	var places []mountCopy
	for _, one := range append(p.View.Shown, shown{Path: p.Dir, Write: true, Owner: p.Owner}) {
		places = append(places, r.copyShown(p, one))
	}
	if len(p.View.Programs) > 0 {
		binary, err := os.Readlink(self) // a mount of another namespace, by which it was started, cannot be copied
		r.fail("finding this binary", err)
		for _, name := range p.View.Programs {
			places = append(places, r.copyMount(binary, ProgramFolder+"/"+name, readOnlyMount))
		}
	}
	var copies []mountCopy
	for _, name := range devices {
		copies = append(copies, r.copyMount("/dev/"+name, "/dev/"+name, deviceMount))
	}

	r.tmpfs("", fmt.Sprintf("mode=0755,size=%d", rootSize+len(p.View.Copied)*maxLent))
	for _, one := range system {
		r.attach(one)
	}
	r.links()
	r.dev(copies)
	r.proc(p.maxThreads())
	r.tmpfs("/tmp", fmt.Sprintf("mode=1777,size=%d", tmpSize))
	for _, one := range places {
		r.attach(one)
	}
	r.copies(p) // after a view that shows all of /etc
	r.guard(p.Dir, p.Guards)
	r.seal("/dev")
	r.moveIn()
	r.chdir(p.Dir)
	return r.err
}

func (r *root) fail(doing string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("sandbox: %s: %w", doing, err)
	}
}

// copySystem copies the folders and files of the system; symlinks are made anew later.
func (r *root) copySystem(v view) []mountCopy {
	var all []mountCopy
	for _, folder := range v.systemPaths(systemFolders) {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() {
			all = append(all, r.copyMount(folder, folder, readOnlyMount))
		}
	}
	for _, file := range v.systemPaths(systemFiles) {
		if _, err := os.Stat(file); err == nil {
			all = append(all, r.copyMount(file, file, readOnlyMount))
		}
	}
	return all
}

// copyMount copies the mount at source with everything mounted below it.
func (r *root) copyMount(source, target string, attributes uint64) mountCopy {
	if r.err != nil {
		return mountCopy{}
	}
	info, err := os.Stat(source)
	if err != nil {
		r.fail("opening "+source, err)
		return mountCopy{}
	}
	fd, err := clone(unix.AT_FDCWD, source, attributes)
	r.fail("taking hold of "+source, err)
	return mountCopy{fd: fd, folder: info.IsDir(), target: target}
}

// copyShown copies a file or folder that the environment shows.
func (r *root) copyShown(p plan, one shown) mountCopy {
	attributes := uint64(readOnlyMount)
	if one.Write {
		attributes = writableMount
	}
	made := r.copyMount(one.Path, one.target(), attributes)
	r.mapOwner(p, made, one.Owner)
	return made
}

// mapOwner has the owner of a mount appear as the command's user.
func (r *root) mapOwner(p plan, tree mountCopy, owner int) {
	if r.err == nil && owner > 0 {
		r.fail("mapping the owner of "+tree.target, mapOwner(tree.fd, p.ownerFD(owner)))
	}
}

// copies puts files where the command finds them. A copy can be read whoever owns the file; everything that
// runs inside belongs to the one command.
func (r *root) copies(p plan) {
	for i, one := range p.View.Copied {
		if r.err != nil {
			return
		}
		made := filepath.Join(lentFolder, filepath.Base(one.Target))
		content, err := io.ReadAll(os.NewFile(uintptr(p.copiedFD(i)), one.Target))
		r.fail("reading the content of "+one.Target, err)
		r.fail("making "+lentFolder, os.MkdirAll(staging+lentFolder, 0o755))
		r.fail("writing "+one.Target, os.WriteFile(staging+made, content, 0o444)) //nolint:gosec // the target is lentFolder and a base name
		if made != one.Target {
			r.cover(made, one.Target)
		}
	}
}

// clone copies a mount. Attributes hold for mounts below it, too.
func clone(dir int, path string, attributes uint64) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.O_CLOEXEC | unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	fd, err := unix.OpenTree(dir, path, flags)
	if err != nil {
		return -1, err
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
	return fd, err
}

// attach mounts a copy in the new root, and makes a mount point for it.
func (r *root) attach(g mountCopy) {
	if r.err != nil {
		return
	}
	target := staging + g.target
	r.fail("making a mount point for "+g.target, mountPoint(target, g.folder))
	if r.err != nil {
		return
	}
	r.fail("mounting "+g.target, unix.MoveMount(g.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH))
	unix.Close(g.fd)
}

func mountPoint(path string, folder bool) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if folder {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

func (r *root) tmpfs(target, options string) {
	if r.err != nil {
		return
	}
	r.fail("making a mount point for "+target, mountPoint(staging+target, true))
	r.fail("mounting a tmpfs", unix.Mount("tmpfs", staging+target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options))
}

func (r *root) link(to, name string) {
	if r.err == nil {
		r.fail("linking "+name, os.Symlink(to, staging+name))
	}
}

func (r *root) links() {
	for _, folder := range systemFolders {
		if to, err := os.Readlink(folder); err == nil {
			r.link(to, folder)
		}
	}
	for _, folder := range []string{"/var", "/run"} {
		r.fail("making "+folder, os.MkdirAll(staging+folder, 0o755))
	}
	r.link("../tmp", "/var/tmp") // relative, because a workspace may lie there
}

func (r *root) dev(devices []mountCopy) {
	r.tmpfs("/dev", "mode=0755,size=64k")
	for _, device := range devices {
		r.attach(device)
	}
	for name, to := range deviceLinks {
		r.link(to, "/dev/"+name)
	}
	r.link("pts/ptmx", "/dev/ptmx")
	r.tmpfs("/dev/shm", fmt.Sprintf("mode=1777,size=%d", shmSize))
	if r.err == nil {
		r.fail("making /dev/pts", os.Mkdir(staging+"/dev/pts", 0o755))
		r.fail("mounting /dev/pts", unix.Mount("devpts", staging+"/dev/pts", "devpts",
			unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"))
	}
}

func (r *root) proc(threads int) {
	if r.err != nil {
		return
	}
	r.fail("making /proc", os.Mkdir(staging+"/proc", 0o755))
	if r.err == nil {
		r.err = errors.Join(mountProc(staging+"/proc"), limitProcesses(staging+"/proc", threads))
	}
	for _, name := range procReadOnly {
		r.cover("/proc/"+name, "/proc/"+name)
	}
	for _, name := range procCovered {
		r.hide("/proc/" + name)
	}
}

// cover mounts source, read-only, over target; both are in the new root.
func (r *root) cover(source, target string) {
	if _, err := os.Lstat(staging + target); r.err != nil || err != nil {
		return
	}
	fd, err := clone(unix.AT_FDCWD, staging+source, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
	r.fail("covering "+target, err)
	r.attach(mountCopy{fd: fd, target: target})
}

func (r *root) hide(target string) {
	info, err := os.Lstat(staging + target)
	switch {
	case r.err != nil || err != nil:
	case info.IsDir():
		r.tmpfs(target, "mode=0555,size=4k")
		r.seal(target)
	default:
		r.cover("/dev/null", target)
	}
}

// seal makes one mount read-only, and not the mounts below it.
func (r *root) seal(target string) {
	if r.err == nil {
		r.fail("sealing "+target, unix.MountSetattr(unix.AT_FDCWD, staging+target, 0,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
	}
}

// guard gives parts of the workspace, and of the system, mounts of their own. Another command may work in the same workspace right now
// and put links in the way: so the path is resolved once, to a descriptor, and no link is followed.
func (r *root) guard(dir string, guards []guard) {
	for _, g := range guards {
		if r.err != nil {
			return
		}
		if filepath.IsAbs(g.Path) {
			r.fail("hiding "+g.Path, guardOne(staging, strings.TrimPrefix(g.Path, "/"), g.As))
		} else {
			r.fail("guarding "+g.Path+" of the workspace", guardOne(staging+dir, g.Path, g.As))
		}
	}
}

func guardOne(folder, path string, as guardKind) error {
	base, err := unix.Open(folder, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(base)
	spot, err := unix.Openat2(base, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return err
	}
	defer unix.Close(spot)
	var stat unix.Stat_t
	if unix.Fstat(spot, &stat) != nil || stat.Mode&unix.S_IFMT == unix.S_IFLNK { // no link is followed, but one at the very end is opened itself
		return unix.ELOOP
	}
	cover, err := coverFor(spot, as)
	if err != nil {
		return err
	}
	defer unix.Close(cover)
	return unix.MoveMount(cover, "", spot, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// coverFor returns the mount for spot: itself, or an empty file or folder to hide it.
func coverFor(spot int, as guardKind) (int, error) {
	switch as {
	case pinned:
		return clone(spot, "", writableMount)
	case readOnly:
		return clone(spot, "", readOnlyMount)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(spot, &stat); err != nil {
		return -1, err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return emptyFolder()
	}
	return clone(unix.AT_FDCWD, staging+"/dev/null", deviceMount|unix.MOUNT_ATTR_RDONLY)
}

// emptyFolder makes a file system with nothing in it, mounted nowhere yet.
func emptyFolder() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, readOnlyMount)
}

// moveIn makes the new root the root, and unmounts the old one.
func (r *root) moveIn() {
	if r.err != nil {
		return
	}
	r.fail("entering the new root", unix.Chdir(staging))
	r.fail("changing the root", unix.PivotRoot(".", "."))
	r.fail("leaving the old root", unix.Unmount(".", unix.MNT_DETACH))
	r.chdir("/")
	if r.err == nil {
		r.fail("sealing the root", unix.MountSetattr(unix.AT_FDCWD, "/", 0,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
	}
}

func (r *root) chdir(dir string) {
	if r.err == nil {
		r.fail("entering "+strings.TrimPrefix(dir, staging), unix.Chdir(dir))
	}
}
