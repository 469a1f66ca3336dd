package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// What an environment hides may have a second name in what it shows: a bind mount of the data folder below /srv, say. And what is mounted there may be the
// kernel's own, which no environment shows: a chroot below /srv has the machine's /proc in it.

// mounts are those of this machine, the later ones on top.
type mounts []mounted

// mounted is one of them.
type mounted struct {
	Device string // of the file system
	Root   string // the part of the file system that is mounted
	Point  string
	Kind   string // of the file system
}

// kernelFileSystems show or change the machine itself.
var kernelFileSystems = []string{
	"autofs", "binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "mqueue", "nsfs",
	"proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sysfs", "tracefs",
}

// ofTheKernel are the places where such a file system is mounted.
func (all mounts) ofTheKernel() []string {
	var points []string
	for _, one := range all {
		if slices.Contains(kernelFileSystems, one.Kind) {
			points = append(points, one.Point)
		}
	}
	return points
}

// otherNames are those that a file or folder, or a part of it, has by other mounts of its file system.
func (all mounts) otherNames(path string) []string {
	on, inside := all.find(path)
	var names []string
	for _, other := range all {
		if other.Device != on.Device || other == on {
			continue
		}
		switch {
		case within(inside, other.Root):
			names = append(names, other.Point)
		case within(other.Root, inside):
			name := filepath.Join(other.Point, relativeTo(other.Root, inside))
			if isSame(name, path) {
				names = append(names, name)
			}
		}
	}
	return names
}

// find returns the mount that a path lies on, and its place in the file system.
func (all mounts) find(path string) (on mounted, inside string) {
	for _, one := range all {
		if within(one.Point, path) && len(one.Point) >= len(on.Point) {
			on = one
		}
	}
	return on, filepath.Join(on.Root, relativeTo(on.Point, path))
}

func relativeTo(root, path string) string {
	relative, err := filepath.Rel(root, path)
	if err != nil {
		return ""
	}
	return relative
}

// isSame reports whether two paths name one file: another mount may lie over one of them.
func isSame(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	other, err := os.Lstat(b) //nolint:gosec // both are paths that the operator has named
	return err == nil && os.SameFile(one, other)
}
