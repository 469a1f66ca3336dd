package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// A server that runs as root could read each file of the machine, and so could its commands. In an environment that shows more than the
// workspace they run as an unprivileged user, so that file modes hold for them. The workspace may belong to root: then it is mounted so
// that its owner appears as that user (an id-mapped mount, mount_setattr(2)), and files that the user makes belong to that owner.

// defaultUser runs the commands of a server that runs as root.
const defaultUser = "nobody"

// accountOf is the user that commands of the environment run as; nil is the server's own.
func accountOf(e domain.Environment) (*account, error) {
	if !privileged() {
		if e.User == "" {
			return nil, nil //nolint:nilnil // the server's own user is an ordinary one already
		}
		if own, err := user.Current(); err == nil && own.Username == e.User {
			return nil, nil //nolint:nilnil // the same
		}
		return nil, fmt.Errorf("only a server that runs as root can run commands as %s", e.User)
	}
	a, err := lookup(cmp.Or(e.User, defaultUser))
	switch {
	case err != nil:
		return nil, err
	case a.UID == 0:
		return nil, errors.New("commands of this environment cannot run as root, for whom file modes do not hold")
	case a.GID == 0 || slices.Contains(a.Groups, 0):
		return nil, fmt.Errorf("commands of this environment cannot run as %s, who is in the group root, which reads files of root's", a.Name)
	case e.User == "":
		a.Groups = nil // the fewer, the better: what is shown may be open to a group
	}
	return a, nil
}

// hostAccount is the user that commands of a host environment run as, with all their groups; nil is the server's own.
func hostAccount(e domain.Environment) (*account, error) {
	if e.AsServer {
		return nil, nil //nolint:nilnil // the server's own user
	}
	a, err := lookup(e.User)
	if err != nil {
		return nil, err
	}
	if a.UID == os.Getuid() {
		return nil, fmt.Errorf("%s is the server's own user, who can approve calls; asServer: true permits that", e.User)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only a server that runs as root can run commands as %s", e.User)
	}
	return a, nil
}

// lookup finds a user, with the groups that they have when they log in.
func lookup(name string) (*account, error) {
	found, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("there is no user %s on this machine", name)
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	ids, groupsErr := found.GroupIds()
	if err := errors.Join(uidErr, gidErr, groupsErr); err != nil {
		return nil, err
	}
	a := &account{Name: name, UID: uid, GID: gid, Home: found.HomeDir}
	for _, id := range ids {
		if group, err := strconv.ParseUint(id, 10, 32); err == nil {
			a.Groups = append(a.Groups, uint32(group))
		}
	}
	return a, nil
}

// settle chooses the user of a command, and makes the workspace and the writable mounts writable for them.
func (v *view) settle(dir string, e domain.Environment) (workspaceOwner int, err error) {
	if !e.ShowsMore() {
		return 0, nil
	}
	if v.User, err = accountOf(e); err != nil || v.User == nil {
		return 0, err
	}
	for i := range v.Shown {
		if v.Shown[i].Write {
			if v.Shown[i].Owner, err = v.mapFor(v.Shown[i].Path); err != nil {
				return 0, err
			}
		}
	}
	return v.mapFor(dir)
}

// mapFor returns the owner of a folder that the command's user could not write otherwise; 0 where it can.
func (v *view) mapFor(folder string) (int, error) {
	var stat unix.Stat_t
	if err := unix.Stat(folder, &stat); err != nil {
		return 0, err
	}
	if writableFor(*v.User, stat) {
		return 0, nil
	}
	if err := mappable(folder); err != nil {
		return 0, fmt.Errorf("the user %s cannot write %s, and the file system cannot map its owner (%w). Give the folder to the user: chown -R %s %s",
			v.User.Name, folder, err, v.User.Name, folder)
	}
	belongs := owner{int(stat.Uid), int(stat.Gid)}
	i := slices.Index(v.Owners, belongs)
	if i < 0 {
		i = len(v.Owners)
		v.Owners = append(v.Owners, belongs)
	}
	return i + 1, nil
}

// writableFor goes by the mode alone.
func writableFor(a account, stat unix.Stat_t) bool {
	const writeAndEnter = unix.S_IWOTH | unix.S_IXOTH
	switch {
	case int(stat.Uid) == a.UID:
		return stat.Mode>>6&writeAndEnter == writeAndEnter
	case int(stat.Gid) == a.GID:
		return stat.Mode>>3&writeAndEnter == writeAndEnter
	default:
		return stat.Mode&writeAndEnter == writeAndEnter
	}
}

// WritesOnHost reports whether a command in a host environment can write a file or folder, by its mode. Whoever is not sure, writes.
func WritesOnHost(e domain.Environment, path string) bool {
	user, err := hostAccount(e)
	if err != nil {
		return true
	}
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	if user == nil {
		return int(stat.Uid) == os.Geteuid() || unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
	}
	if user.UID == 0 {
		return true
	}
	size, err := unix.Getxattr(path, "system.posix_acl_access", nil)
	hasList := err == nil && size > 0 // then the bits of the group bound those of all who are named
	inGroup := int(stat.Gid) == user.GID || slices.Contains(user.Groups, stat.Gid)
	return int(stat.Uid) == user.UID || (hasList || inGroup) && stat.Mode&unix.S_IWGRP != 0 || stat.Mode&unix.S_IWOTH != 0
}

// mappable tries whether the file system of a folder can be mounted with other owners. Overlay file systems, which containers are
// made of, cannot.
func mappable(folder string) error {
	namespace, err := userNamespace(owner{0, 0}, account{UID: 1, GID: 1})
	if err != nil {
		return err
	}
	defer namespace.Close()
	tree, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return mapOwner(tree, int(namespace.Fd()))
}

// mapOwner gives a mount that is in no tree yet the owners of a user namespace.
func mapOwner(tree, namespace int) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(namespace)})
}

// userNamespaces keeps one namespace for each pair of owner and user: making one takes the start of a process.
var userNamespaces struct {
	sync.Mutex
	made map[[2]owner]*os.File
}

// userNamespace returns a user namespace in which the owner is the account. The caller closes its copy.
func userNamespace(belongs owner, a account) (*os.File, error) {
	userNamespaces.Lock()
	defer userNamespaces.Unlock()
	key := [2]owner{belongs, {a.UID, a.GID}}
	kept, exists := userNamespaces.made[key]
	if !exists {
		var err error
		if kept, err = makeUserNamespace(belongs, a); err != nil {
			return nil, err
		}
		if userNamespaces.made == nil {
			userNamespaces.made = map[[2]owner]*os.File{}
		}
		userNamespaces.made[key] = kept
	}
	copied, err := unix.FcntlInt(kept.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(copied), "user namespace"), nil
}

// makeUserNamespace starts a process in a new user namespace, and takes hold of that. The namespace lives on without the process.
func makeUserNamespace(belongs owner, a account) (*os.File, error) {
	holder := exec.Command(program)
	holder.Args = []string{"signoff", holdArg}
	holder.Env = []string{}
	holder.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: belongs.UID, HostID: a.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: belongs.GID, HostID: a.GID, Size: 1}},
	}
	hold, err := holder.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := holder.Start(); err != nil {
		return nil, fmt.Errorf("sandbox: making a user namespace: %w", err)
	}
	defer func() {
		hold.Close()
		_ = holder.Wait()
	}()
	return os.Open("/proc/" + strconv.Itoa(holder.Process.Pid) + "/ns/user")
}

// become turns this thread into the command's user, where that is another one. Its capabilities go with it.
func (v view) become() error {
	if v.User == nil {
		return nil
	}
	a := v.User
	for _, step := range []struct {
		number uintptr
		args   [3]uintptr
	}{
		{unix.SYS_SETGROUPS, [3]uintptr{uintptr(len(a.Groups)), uintptr(unsafe.Pointer(unsafe.SliceData(a.Groups)))}},
		{unix.SYS_SETRESGID, [3]uintptr{uintptr(a.GID), uintptr(a.GID), uintptr(a.GID)}},
		{unix.SYS_SETRESUID, [3]uintptr{uintptr(a.UID), uintptr(a.UID), uintptr(a.UID)}},
	} {
		// Not the functions of package syscall: they change all threads, and this one is all that is left after the exec.
		if _, _, errno := unix.RawSyscall(step.number, step.args[0], step.args[1], step.args[2]); errno != 0 {
			return fmt.Errorf("becoming the user %s: %w", a.Name, errno)
		}
	}
	return nil
}
