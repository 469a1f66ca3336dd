package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bubblewrap returns the command line of bwrap, which isolates and then runs confine. It finds confine through a
// descriptor, because this binary does not exist inside.
func (p plan) bubblewrap() []string {
	args := []string{"bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if !privileged() {
		args = append(args, "--unshare-user")
	}
	if len(p.Relays) > 0 {
		args = append(args, "--cap-add", "CAP_NET_BIND_SERVICE") // for the ports below 1024
	}
	if p.View.User != nil { // the last stage becomes that user, in a folder that is theirs alone
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_DAC_READ_SEARCH")
	}
	args = append(args, "--dir", "/etc", "--dir", "/var") // folders above mounts that bubblewrap makes itself are closed to others
	args = append(args, p.systemArgs()...)
	args = append(args, "--proc", "/proc")
	args = append(args, p.deviceArgs()...)
	args = append(args, p.tmpfs("/dev/shm", shmSize)...)
	args = append(args, "--remount-ro", "/dev")
	args = append(args, p.tmpfs("/tmp", tmpSize)...)
	args = append(args, "--symlink", "../tmp", "/var/tmp", "--dir", "/run")
	args = append(args, p.parentArgs()...)
	for _, one := range append(p.View.Shown, shown{Path: p.Dir, Write: true}) {
		bind := "--ro-bind"
		if one.Write {
			bind = "--bind"
		}
		args = append(args, bind, one.Path, one.target())
	}
	if len(p.View.Programs) > 0 {
		binary, _ := os.Readlink(self)
		for _, name := range p.View.Programs {
			args = append(args, "--ro-bind", binary, ProgramFolder+"/"+name)
		}
	}
	for i, one := range p.View.Copied {
		if p.Tools.SizedTmpfs { // newer than this option, too
			args = append(args, "--perms", "0444")
		}
		args = append(args, "--ro-bind-data", strconv.Itoa(p.copiedFD(i)), one.Target)
	}
	for _, g := range p.Guards {
		args = append(args, p.guardArgs(g)...)
	}
	args = append(args, "--remount-ro", "/", "--chdir", p.Dir, "--")
	stage := p.stage(confineArg)
	stage[0] = fmt.Sprintf("/proc/self/fd/%d", binaryFD)
	return append(args, stage...)
}

// deviceArgs make /dev. With the terminals of --dev, bubblewrap puts the command of an ordinary user into a second user namespace, in which nobody may
// listen at the ports below 1024.
func (p plan) deviceArgs() []string {
	if len(p.Relays) == 0 || privileged() {
		return []string{"--dev", "/dev"}
	}
	args := []string{"--tmpfs", "/dev"}
	for _, name := range devices {
		args = append(args, "--dev-bind", "/dev/"+name, "/dev/"+name)
	}
	for name, to := range deviceLinks {
		args = append(args, "--symlink", to, "/dev/"+name)
	}
	return args
}

func (p plan) systemArgs() []string {
	var args []string
	for _, folder := range p.View.systemPaths(systemFolders) {
		if to, err := os.Readlink(folder); err == nil {
			args = append(args, "--symlink", to, folder)
		} else {
			args = append(args, "--ro-bind-try", folder, folder)
		}
	}
	for _, file := range p.View.systemPaths(systemFiles) {
		if folder := filepath.Dir(file); exists(file) && !p.View.shows(folder) {
			for _, parent := range append(parents(strings.TrimPrefix(folder, "/")), strings.TrimPrefix(folder, "/")) {
				args = append(args, "--dir", "/"+parent)
			}
		}
		args = append(args, "--ro-bind-try", file, file)
	}
	return args
}

// parentArgs make the folders above mounts: bubblewrap makes them closed to others, and the command may be another user.
func (p plan) parentArgs() []string {
	if p.View.User == nil && len(p.View.Shown) == 0 && len(p.View.Copied) == 0 && len(p.View.Programs) == 0 {
		return nil
	}
	paths := []string{p.Dir}
	for _, one := range p.View.Copied {
		paths = append(paths, one.Target)
	}
	if len(p.View.Programs) > 0 {
		paths = append(paths, ProgramFolder+"/any")
	}
	for _, one := range p.View.Shown {
		paths = append(paths, one.target())
	}
	var args []string
	for _, path := range paths {
		for _, parent := range parents(strings.TrimPrefix(path, "/")) {
			if !p.View.shows("/"+parent) && !slices.ContainsFunc(systemFolders, func(f string) bool { return within(f, "/"+parent) }) {
				args = append(args, "--dir", "/"+parent)
			}
		}
	}
	return args
}

func (p plan) tmpfs(target string, size int) []string {
	if !p.Tools.SizedTmpfs {
		return []string{"--tmpfs", target}
	}
	return []string{"--perms", "1777", "--size", strconv.Itoa(size), "--tmpfs", target}
}

func (p plan) guardArgs(g guard) []string {
	path := p.pathOf(g)
	switch g.As {
	case pinned:
		return []string{"--bind", path, path}
	case readOnly:
		return []string{"--ro-bind", path, path}
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() { //nolint:gosec // a path of the plan
		return []string{"--tmpfs", path, "--remount-ro", path}
	}
	return []string{"--ro-bind", "/dev/null", path}
}
