package writers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// view is a folder as the processes of one mount namespace see it.
type view struct {
	folder *os.File
	prefix string // of the paths below the folder
	mount  uint64 // the id of its mount; the kernel does not use the id again while the folder is open
}

// viewsOf returns the views of a folder: the view of the server, and the views of processes that the server has not started.
func viewsOf(folder string) (views []view, err error) {
	own, err := openView(folder)
	if err != nil {
		return nil, err
	}
	views = append(views, own)
	foreign, err := foreignNamespaces()
	if err != nil {
		closeAll(views)
		return nil, err
	}
	for _, pid := range foreign {
		v, err := openView("/proc/" + pid + "/root" + folder)
		switch {
		case gone(err) || errors.Is(err, unix.ENOTDIR):
			continue
		case err != nil:
			closeAll(views)
			return nil, err
		case !same(v.folder, own.folder):
			_ = v.folder.Close()
			continue
		}
		views = append(views, v)
	}
	return views, nil
}

func openView(path string) (view, error) {
	folder, err := os.OpenFile(path, unix.O_DIRECTORY, 0)
	if err != nil {
		return view{}, err
	}
	var stat unix.Statx_t
	if err := unix.Statx(int(folder.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &stat); err != nil || stat.Mask&unix.STATX_MNT_ID == 0 {
		_ = folder.Close()
		return view{}, fmt.Errorf("the kernel does not tell which mount %s is on: %w", path, errors.Join(err, errors.ErrUnsupported))
	}
	v := view{folder: folder, mount: stat.Mnt_id}
	v.locate()
	return v, nil
}

func closeAll(views []view) {
	for _, v := range views {
		_ = v.folder.Close()
	}
}

func same(a, b *os.File) bool {
	first, err := a.Stat()
	second, other := b.Stat()
	return err == nil && other == nil && os.SameFile(first, second)
}

// locate finds the name of the folder as the kernel writes it in the paths of events.
func (v *view) locate() {
	path, err := os.Readlink(descriptor(int(v.folder.Fd())))
	if err == nil {
		v.prefix = strings.TrimSuffix(path, "/") + "/"
	}
}

// foreignNamespaces returns a process id for each mount namespace, other than the server's, of processes that the server has not started.
//
// It leaves out the processes in another user namespace: their users may have mounted a file system there that never answers.
func foreignNamespaces() (pids []string, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	user := namespace("self", "user")
	known := map[string]bool{namespace("self", "mnt"): true}
	for _, entry := range entries {
		pid := entry.Name()
		if pid[0] < '0' || pid[0] > '9' {
			continue
		}
		mounts := namespace(pid, "mnt")
		if mounts == "" || known[mounts] {
			continue
		}
		if namespace(pid, "user") == user && !startedByUs(pid) {
			known[mounts] = true
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// gone reports whether an error means that a process has ended, or that a folder does not exist.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// initialPIDNamespace is the first PID namespace of every kernel (PID_NS_INIT_INO in linux/nsfs.h).
const initialPIDNamespace = "pid:[4026531836]"

// namespace names a namespace of a process; empty: the process has ended, or the server may not look at it.
func namespace(pid, kind string) string {
	name, _ := os.Readlink("/proc/" + pid + "/ns/" + kind)
	return name
}

// startedByUs reports whether a process is a descendant of the server, or has ended.
func startedByUs(pid string) bool {
	own := strconv.Itoa(os.Getpid())
	for pid != "0" && pid != own {
		stat, err := os.ReadFile("/proc/" + pid + "/stat") //nolint:gosec // the kernel names the processes
		if err != nil {
			return true
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name of a program may hold any character, also a space or a parenthesis
		if len(fields) < 2 {
			return true
		}
		pid = string(fields[1])
	}
	return pid == own
}
