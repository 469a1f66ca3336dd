package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	maxDepth   = 200       // folders within folders; each is open during the walk
	maxEntries = 1_000_000 // of one walk
)

// look is what lstat(2) says of a path. Two equal ones mean the same content, if the first was [look.settled].
type look struct {
	mode              fs.FileMode
	size              int64
	modified, changed int64 // nanoseconds since 1970: mtime and ctime
	device, inode     uint64
	uid, gid          uint32
}

func lookOf(stat unix.Stat_t) look {
	mode := fs.FileMode(stat.Mode & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if uint32(stat.Mode)&bit != 0 { //nolint:unconvert // Mode is smaller elsewhere
			mode |= flag
		}
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return look{
		mode: mode, size: stat.Size, modified: stat.Mtim.Nano(), changed: stat.Ctim.Nano(),
		device: uint64(stat.Dev), inode: stat.Ino, uid: stat.Uid, gid: stat.Gid, //nolint:unconvert // Dev is smaller elsewhere
	}
}

// clockTick is the coarsest step of the times of a file system. A content that was read within one step of its last change may be followed by another
// with the same times.
const clockTick = 2 * time.Second

// settled reports whether a file that was read at a time cannot have changed since without a change of its times.
func (l look) settled(read time.Time) bool {
	return l.changed < read.Add(-clockTick).UnixNano()
}

// walk is what one walk over the folder found, by paths relative to it.
type walk struct {
	files      map[string]look // regular files and links that are candidates for a checkpoint
	folders    map[string]look
	pending    map[string]look // folders that are passed over only if a .gitignore names them
	entered    []string        // folders that the walk entered although they may be generated
	acls       map[string]acls // of the folders that have some
	top        look            // the folder itself
	notCovered []NotCovered
	entries    int
	part       *part // nil: the walk went over the whole folder
	order      []string
}

// sorted returns the paths of all files that the walk found, also of those that the checkpoint does not cover.
func (w *walk) sorted() []string {
	if w.order == nil {
		w.order = slices.Sorted(maps.Keys(w.files))
	}
	return w.order
}

// candidates returns the number of files that a checkpoint of the folder may hold, at most.
func (w *walk) candidates() int {
	if w.part == nil {
		return len(w.files)
	}
	return len(w.files) + w.part.elsewhere
}

// walker walks over the folder.
type walker struct {
	ctx    context.Context
	hidden []string // relative paths that are passed over
	only   scope
	enter  func(relative string) bool
	device uint64
	*walk
}

// walkOver looks at all paths below a folder, or at some of them. It enters each folder by the descriptor of the one above it, so that it does not follow a link
// that somebody puts in the place of a folder meanwhile.
func (s *Series) walkOver(ctx context.Context, only scope, enter func(relative string) bool) (*walk, error) {
	fd, err := unix.Open(s.workspace, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) { // a link fails with one of the last two
		return nil, fmt.Errorf("%w: %w", ErrNoWorkspace, err)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: opening the workspace: %w", err)
	}
	top := os.NewFile(uintptr(fd), ".")
	defer top.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("checkpoint: looking at the workspace: %w", err)
	}
	w := &walker{ctx: ctx, hidden: s.hidden, only: only, enter: enter, device: lookOf(stat).device, walk: &walk{
		top: lookOf(stat), files: make(map[string]look, len(s.read)), folders: map[string]look{}, pending: map[string]look{}, acls: map[string]acls{},
	}}
	if err := w.folder(top, "", 0); err != nil {
		return nil, fmt.Errorf("checkpoint: reading the workspace: %w", err)
	}
	return w.walk, nil
}

// folder looks at what an open folder holds.
func (w *walker) folder(opened *os.File, relative string, depth int) error {
	if names, confined := w.only[relative]; confined {
		return w.entriesOf(opened, relative, names, depth)
	}
	for {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
		}
		names, err := opened.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if relative == "" {
				return err
			}
			w.pass(relative, Unreadable, 0)
			return nil
		}
		slices.Sort(names)
		if err := w.entriesOf(opened, relative, names, depth); err != nil {
			return err
		}
	}
}

func (w *walker) entriesOf(opened *os.File, relative string, names []string, depth int) error {
	for _, name := range names {
		if w.entries++; w.entries > maxEntries {
			return fmt.Errorf("there are more than %d files and folders", maxEntries)
		}
		if err := w.entry(opened, relative, name, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry looks at one file or folder.
func (w *walker) entry(above *os.File, folder, name string, depth int) error {
	relative := path.Join(folder, name)
	if folder == "" && strings.EqualFold(name, ".git") {
		return nil // the user's own; what moves there is told beside the checkpoint
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(int(above.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if !errors.Is(err, unix.ENOENT) { // that one is gone since the folder was listed
			w.pass(relative, Unreadable, 0)
		}
		return nil
	}
	seen := lookOf(stat)
	switch {
	case !utf8.ValidString(name):
		w.pass(relative, NotText, seen.size)
	case slices.Contains(w.hidden, relative):
		w.pass(relative, Hidden, 0)
	case strings.EqualFold(name, ".git"):
		w.pass(folder, NestedRepository, 0)
	case seen.device != w.device:
		w.pass(relative, OtherMount, 0)
	case seen.mode.IsDir():
		return w.below(above, relative, name, seen, depth)
	case seen.mode.IsRegular(), seen.mode&fs.ModeSymlink != 0:
		w.files[relative] = seen
	default:
		w.pass(relative, Special, 0)
	}
	return nil
}

// below enters a folder, unless it is one of those that are only listed.
func (w *walker) below(above *os.File, relative, name string, seen look, depth int) error {
	w.folders[relative] = seen
	switch kind := generatedFolders[name]; {
	case depth >= maxDepth:
		w.pass(relative, TooDeep, 0)
		return nil
	case kind == generatedAlways:
		w.pass(relative, Generated, 0)
		return nil
	case kind == generatedIfIgnored && !w.enter(relative):
		w.pending[relative] = seen
		return nil
	case kind == generatedIfIgnored:
		w.entered = append(w.entered, relative)
	}
	fd, err := unix.Openat(int(above.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		delete(w.folders, relative)
		return nil
	case err != nil:
		w.pass(relative, Unreadable, 0)
		return nil
	}
	opened := os.NewFile(uintptr(fd), relative)
	defer opened.Close()
	if w.isRepository(opened) {
		w.pass(relative, NestedRepository, 0)
		return nil
	}
	switch all, err := aclsOf(opened, true); {
	case err != nil:
		w.pass(relative, Unreadable, 0)
		return nil
	case all != acls{}:
		w.acls[relative] = all
	}
	return w.folder(opened, relative, depth+1)
}

// isRepository reports whether a folder is the work tree of a repository of its own, or a submodule.
func (w *walker) isRepository(opened *os.File) bool {
	var stat unix.Stat_t
	return unix.Fstatat(int(opened.Fd()), ".git", &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (w *walk) pass(relative string, why Reason, size int64) {
	w.notCovered = append(w.notCovered, NotCovered{Path: strings.ToValidUTF8(relative, "\uFFFD"), Reason: why, Bytes: size})
}

// reader opens the files of the workspace.
type reader struct{ root *os.Root }

// inUse reports whether somebody has a file open for writing. A program that opens the file in this moment waits for it.
func (r reader) inUse(relative string) bool {
	inUse, release := reserve(r.root, relative)
	release()
	return inUse
}

// errChanging: what was opened is not what was looked at, or did not hold still.
var errChanging = errors.New("checkpoint: the file changes while it is read")

// open opens the very file that was looked at.
func (r reader) open(relative string, seen look) (*os.File, error) {
	file, err := r.root.OpenFile(relative, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := lookAt(file); err != nil || now != seen {
		file.Close()
		return nil, errChanging
	}
	return file, nil
}

func lookAt(file *os.File) (look, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return look{}, err
	}
	return lookOf(stat), nil
}
