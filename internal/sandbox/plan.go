package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// plan is everything that a stage needs to know. It travels as JSON.
type plan struct {
	Method   method
	Dir      string          // the workspace, absolute, without symlinks
	Folder   identity        // the identity of Dir when the plan was made
	Guards   []guard         // parts of the workspace that get a mount of their own
	Watched  []watchedFolder // folders with places that the command must leave as they are
	Tools    tools           // where things are on this machine
	Argv     []string        `json:",omitempty"`
	Env      []string        `json:",omitempty"` // of the command, on top; of a process, all of it
	Landlock int             // the ABI that the kernel speaks; 0 = none
	Memory   uint64          // bytes that the whole tree may use
	Process  bool            // a [Process], not a command
	Start    string          // where that starts; empty: in Dir
	Online   bool            // the last stage opens the socket relay of a proxy
	Relays   []relayPlace    // where else it listens
	View     view            // what the environment shows besides
	Owner    int             // of the workspace, as [shown.Owner]

	Files      []*os.File    `json:"-"` // those of the view: user namespaces of its owners, then the lent files
	Proxy      Proxy         `json:"-"` // that one; no stage needs to know it
	Lease      *lease        `json:"-"` // a descriptor of the supervisor's
	Starts     starts        `json:"-"` // where it waits for its turn to start
	StartLimit time.Duration `json:"-"` // how long it may take to begin after that
	Spawned    func(pid int) `json:"-"` // see [Sandbox]
}

// tools are the programs found on this machine.
type tools struct {
	Bubblewrap string // path; empty where it is not installed
	SizedTmpfs bool   // bubblewrap can limit a tmpfs
}

// guard is a part of the workspace that is not simply writable, or a part of the system that is not to be seen. A mount point cannot be renamed or removed, which is
// all that pinned is for: without it, `mv .git x` would carry the read-only hooks away and make room for new ones.
type guard struct {
	Path string // relative to the workspace, "." is all of it; absolute where it is a part of the system
	As   guardKind
}

type guardKind string

const (
	pinned   guardKind = "pinned"
	readOnly guardKind = "readOnly"
	hidden   guardKind = "hidden"
)

// systemFolders are the folders that programs need. If one is a symlink, as /bin is on most systems, it stays one.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// systemFiles is the part of /etc that programs need and that holds no secrets. /etc/shadow, host keys and service
// configuration with passwords are what "all of /etc" would mean to a server that runs as root.
var systemFiles = []string{
	"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/debian_version", "/etc/fonts", "/etc/group",
	"/etc/hosts", "/etc/inputrc", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias",
	"/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd",
	"/etc/pki/tls/certs", "/etc/profile", "/etc/protocols", "/etc/services", "/etc/shells", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone",
}

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is all that a command or process gets to see, whatever the server was started with. Of two values for one
// name, the later counts.
func (p plan) environment() []string {
	if p.Process {
		return p.Env
	}
	return append(p.stageEnvironment(), p.Env...)
}

// stageEnvironment is the environment of the stages, and of a command besides its own entries. The stages never run with those
// entries: an LD_PRELOAD in it would be loaded before the isolation is complete.
//
// Home is the throw-away /tmp, so that no command finds a .bashrc or .gitconfig that an earlier one has written. Without
// isolation, /tmp is everybody's, and home is the workspace.
func (p plan) stageEnvironment() []string {
	home := "/tmp"
	if !p.Method.isolates() {
		home = p.Dir
	}
	path := searchPath
	if len(p.View.Programs) > 0 {
		path = ProgramFolder + ":" + path
	}
	return []string{"PATH=" + path, "HOME=" + home, "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb"}
}

// identity tells a folder from another one that has taken its name.
type identity struct{ Device, Inode uint64 }

func identify(dir string) (identity, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return identity{}, err
	}
	return identity{Device: uint64(stat.Dev), Inode: stat.Ino}, nil //nolint:unconvert // Dev is smaller elsewhere
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func isSystem(dir string) bool {
	if slices.Contains(systemFolders, dir) {
		return true
	}
	for _, root := range []string{"/proc", "/dev", "/sys", "/etc"} {
		if within(root, dir) {
			return true
		}
	}
	return false
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(relative)
}

// guards collects those of one command.
type guards []guard

// add guards a path, as strictly as anybody wants.
func (all *guards) add(path string, as guardKind) {
	if !filepath.IsAbs(path) { // nobody can rename a folder of the system
		for _, parent := range parents(path) {
			all.addOne(parent, pinned)
		}
	}
	all.addOne(path, as)
}

// addIn guards a path in a folder of the system that commands may write.
func (all *guards) addIn(folder, path string, as guardKind) {
	for _, parent := range parents(path) {
		all.addOne(filepath.Join(folder, parent), pinned)
	}
	all.addOne(filepath.Join(folder, path), as)
}

func (all *guards) addOne(path string, as guardKind) {
	i := slices.IndexFunc(*all, func(g guard) bool { return g.Path == path })
	switch {
	case i < 0:
		*all = append(*all, guard{path, as})
	case strictness[as] > strictness[(*all)[i].As]:
		(*all)[i].As = as
	}
}

var strictness = map[guardKind]int{pinned: 0, readOnly: 1, hidden: 2}

// needed drops guards that an outer guard covers: nothing can be mounted in a hidden folder, and a pinned path in a read-only folder
// would be writable again.
func (all guards) needed() []guard {
	slices.SortStableFunc(all, func(a, b guard) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var kept []guard
	for _, g := range all {
		if !slices.ContainsFunc(kept, func(outer guard) bool { return outer.covers(g) }) {
			kept = append(kept, g)
		}
	}
	return kept
}

func (g guard) sortKey() string {
	if g.Path == "." { // there are names that sort before it
		return ""
	}
	return g.Path
}

func (g guard) covers(inner guard) bool {
	return within(g.Path, inner.Path) && (g.As == hidden || g.As == readOnly && inner.As != hidden)
}

// parents lists the folders between the workspace and path: "a/b/c" has "a" and "a/b".
func parents(path string) []string {
	var all []string
	for parent := filepath.Dir(path); parent != "."; parent = filepath.Dir(parent) {
		all = append(all, parent)
	}
	slices.Reverse(all)
	return all
}

// pathOf is where a guard is, inside and outside.
func (p plan) pathOf(g guard) string {
	if filepath.IsAbs(g.Path) {
		return g.Path
	}
	return filepath.Join(p.Dir, g.Path)
}
