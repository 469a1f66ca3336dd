package sandbox

import (
	"fmt"
	"os"
	"strconv"
)

// bubblewrap returns the command line of bwrap, which isolates and then runs confine. It finds confine through a
// descriptor, because this binary does not exist inside.
func (p plan) bubblewrap() []string {
	args := []string{"bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if !privileged() {
		args = append(args, "--unshare-user")
	}
	args = append(args, "--dir", "/etc", "--dir", "/var") // parents that bubblewrap makes itself are closed to others
	args = append(args, systemArgs()...)
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	args = append(args, p.tmpfs("/dev/shm", shmSize)...)
	args = append(args, "--remount-ro", "/dev")
	args = append(args, p.tmpfs("/tmp", tmpSize)...)
	args = append(args, "--symlink", "../tmp", "/var/tmp", "--dir", "/run", "--bind", p.Dir, p.Dir)
	for _, g := range p.Guards {
		args = append(args, p.guardArgs(g)...)
	}
	args = append(args, "--remount-ro", "/", "--chdir", p.Dir, "--")
	stage := p.stage(confineArg)
	stage[0] = fmt.Sprintf("/proc/self/fd/%d", binaryFD)
	return append(args, stage...)
}

func systemArgs() []string {
	var args []string
	for _, folder := range systemFolders {
		if to, err := os.Readlink(folder); err == nil {
			args = append(args, "--symlink", to, folder)
		} else {
			args = append(args, "--ro-bind-try", folder, folder)
		}
	}
	for _, file := range systemFiles {
		args = append(args, "--ro-bind-try", file, file)
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
